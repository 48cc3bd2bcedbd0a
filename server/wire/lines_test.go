package wire

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// cut is the model of lines: what a splitter with all memory would return.
func cut(in string, limit int) (want []string) {
	for len(in) > 0 {
		line, rest, _ := strings.Cut(in, "\n")
		if len(line) > limit {
			line = "too long"
		}
		want, in = append(want, line), rest
	}
	return want
}

func collect(t *testing.T, l *lines) (got []string) {
	t.Helper()
	for range 1 << 20 {
		line, err := l.next()
		switch err {
		case nil:
			got = append(got, string(line))
		case errLong:
			got = append(got, "too long")
		case io.EOF:
			return got
		default:
			t.Fatal(err)
		}
	}
	t.Fatal("no end")
	return nil
}

func same(a, b []string) bool {
	return strings.Join(a, "\x01") == strings.Join(b, "\x01") && len(a) == len(b)
}

func TestLinesAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range rng.IntN(12) {
			switch rng.IntN(4) {
			case 0:
				b.WriteString(strings.Repeat("x", rng.IntN(400_000)))
			case 1:
				b.WriteString(strings.Repeat("y", 199_990+rng.IntN(20)))
			default:
				b.WriteString(strings.Repeat("z", rng.IntN(100)))
			}
			if rng.IntN(5) > 0 {
				b.WriteByte('\n')
			}
		}
		in := b.String()
		l := newLines(iotest.HalfReader(strings.NewReader(in)))
		l.max = 200_000
		if got, want := collect(t, l), cut(in, l.max); !same(got, want) {
			t.Fatalf("%d lines, want %d, of %d bytes", len(got), len(want), len(in))
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\nlong line\nlast"), 5, uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, limit int, chunk uint8) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		l := newLines(&chunks{in, int(chunk) + 1})
		l.max = limit
		if got, want := collect(t, l), cut(string(in), limit); !same(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// chunks reads n bytes at a time.
type chunks struct {
	rest []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

var page = bytes.Repeat([]byte("a"), readSize)

// endless is a line that goes on, without the memory for it.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(page), e.left)
	copy(p[:n], page)
	e.left -= n
	return n, nil
}

func TestAnEndlessLineTakesBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := newLines(io.MultiReader(&endless{128 << 20}, strings.NewReader("\nnext\n")))
	if _, err := l.next(); err != errLong {
		t.Fatalf("error %v", err)
	}
	if line, err := l.next(); err != nil || string(line) != "next" {
		t.Fatalf("%q, %v", line, err)
	}
	runtime.ReadMemStats(&after)
	// All that was ever allocated, not what was live: no collector can blur it.
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 32<<20 {
		t.Errorf("a line of 128 MiB allocated %d MiB", grew>>20)
	}
	if cap(l.buf) > 2*readSize {
		t.Errorf("%d bytes are kept after it", cap(l.buf))
	}
}

func TestLinesReturnTheReadersError(t *testing.T) {
	l := newLines(io.MultiReader(bytes.NewReader([]byte("a")), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if line, err := l.next(); err != nil || string(line) != "a" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := l.next(); err != io.ErrUnexpectedEOF {
		t.Fatalf("error %v", err)
	}
}
