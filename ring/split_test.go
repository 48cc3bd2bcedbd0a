package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// splitter is a way to index newlines, and how many bytes it needs.
type splitter struct {
	name  string
	least int
	split func(buf []byte, from int, out []uint32) int
}

// splitters are all ways that this processor has.
func splitters() []splitter {
	return append([]splitter{
		{"long", 0, splitLong},
		{"short", 0, splitShort},
		{"chosen", 0, func(buf []byte, from int, out []uint32) int { return split(buf, from, out, 80) }},
	}, moreSplitters()...)
}

// splitPlain is what all ways must agree with.
func splitPlain(buf []byte, from, room int) []uint32 {
	var ends []uint32
	for i := from; i < len(buf) && len(ends) < room; i++ {
		if buf[i] == '\n' {
			ends = append(ends, uint32(i)+1)
		}
	}
	return ends
}

const untouched = 0xdeadbeef

// checkSplit tries every way on buf[from:], with room for so many line ends, and
// with newlines and entries around what it may look at and touch.
func checkSplit(t *testing.T, buf []byte, from, room int) {
	t.Helper()
	want := splitPlain(buf, from, room)
	around := slices.Concat([]byte("\n"), buf, []byte("\n\n\n"))
	for _, s := range splitters() {
		if len(buf) < s.least || room == 0 && s.least > 0 {
			continue
		}
		ends := slices.Repeat([]uint32{untouched}, room+8)
		n := s.split(around[1:len(buf)+1:len(buf)+1], from, ends[:room:room])
		if n != len(want) || !slices.Equal(ends[:n], want) {
			t.Fatalf("%s: %d bytes from %d with room for %d: %v, want %v\n%q", s.name, len(buf), from, room, ends[:max(n, 0)], want, buf)
		}
		for i, e := range ends[room:] {
			if e != untouched {
				t.Fatalf("%s: %d bytes from %d: wrote entry %d of %d", s.name, len(buf), from, room+i, room)
			}
		}
	}
}

// lookalikes differ from a newline by one bit, or are next to it, or have the top bit.
const lookalikes = "\x0b\x8a\x00\x09\x0e\x02\x1a\x2a\x4a\xff\x08\x80"

func TestSplitLengths(t *testing.T) {
	for n := range 131 {
		none := make([]byte, n)
		for i := range none {
			none[i] = lookalikes[i%len(lookalikes)]
		}
		all := slices.Repeat([]byte("\n"), n)
		for from := range n + 1 {
			for _, room := range []int{0, 1, 2, 3, 4, 5, 6, 8, 9, 64, 131} {
				checkSplit(t, none, from, room)
				checkSplit(t, all, from, room)
			}
			one := slices.Clone(none)
			if from < n {
				one[from] = '\n'
			}
			for _, at := range []int{0, from - 1, from, from + 1} {
				if at >= 0 && at <= n {
					checkSplit(t, one, at, 2)
				}
			}
		}
	}
}

// TestSplitFewBytes: every pattern of newlines in a few bytes, wherever they lie
// in a word or block.
func TestSplitFewBytes(t *testing.T) {
	for n := range 10 {
		for bits := range 1 << n {
			for _, before := range []int{0, 1, 5, 31, 60, 64, 67} {
				buf := slices.Repeat([]byte{'\n' | 0x80}, before+n+before)
				for i := range n {
					if bits>>i&1 == 1 {
						buf[before+i] = '\n'
					}
				}
				checkSplit(t, buf, 0, 10)
				checkSplit(t, buf, before+n/2, 3)
			}
		}
	}
}

func TestSplitRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 4000 {
		buf := make([]byte, r.IntN(700))
		often := 1 + r.IntN(1<<r.IntN(9)) // from all newlines to hardly any
		for i := range buf {
			buf[i] = lookalikes[r.IntN(len(lookalikes))]
			if r.IntN(often) == 0 {
				buf[i] = '\n'
			}
		}
		checkSplit(t, buf, r.IntN(len(buf)+1), 1+r.IntN(100))
	}
}

// TestSplitGoesOn: with out full again and again, no line end is lost or found twice.
func TestSplitGoesOn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, s := range splitters() {
		for range 200 {
			buf := make([]byte, s.least+r.IntN(2000))
			often := 1 + r.IntN(40)
			for i := range buf {
				if r.IntN(often) == 0 {
					buf[i] = '\n'
				}
			}
			var got []uint32
			out := make([]uint32, 1+r.IntN(12))
			for from := 0; ; from = int(got[len(got)-1]) {
				k := s.split(buf, from, out)
				got = append(got, out[:k]...)
				if k < len(out) {
					break
				}
			}
			if want := splitPlain(buf, 0, len(buf)); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", s.name, got, want)
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\nthree"), 0, 3)
	f.Add(slices.Repeat([]byte("\n"), 200), 70, 130)
	f.Add(slices.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz\n"), 9), 1, 5)
	f.Fuzz(func(t *testing.T, buf []byte, from, room int) {
		if from < 0 || from > len(buf) || room < 0 || room > 4096 {
			return
		}
		checkSplit(t, buf, from, room)
	})
}

// BenchmarkSplit indexes 64 KiB of lines: all of one length, or of lengths from
// nothing to twice that and so many of them that no branch predictor knows them.
func BenchmarkSplit(b *testing.B) {
	for _, size := range []int{2, 10, 30, 80, 200, 1000} {
		for _, mixed := range []bool{false, true} {
			total := fullChunk
			if mixed {
				total = 64 * fullChunk
			}
			r := rand.New(rand.NewPCG(1, 2))
			var text []byte
			for len(text) < total {
				n := size - 1
				if mixed {
					n = r.IntN(2*size - 1)
				}
				text = append(append(text, make([]byte, n)...), '\n')
			}
			for _, s := range splitters() {
				b.Run(fmt.Sprintf("%s/line=%d/mixed=%v", s.name, size, mixed), func(b *testing.B) {
					out := make([]uint32, fullChunk)
					lines, at := 0, 0
					b.SetBytes(fullChunk)
					for b.Loop() {
						lines += s.split(text[at:at+fullChunk], 0, out)
						at = (at + fullChunk) % total
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(lines), "ns/line")
				})
			}
		}
	}
}
