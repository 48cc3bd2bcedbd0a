package ring

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// FuzzCommit runs a program of bytes against a job and the model: the first
// bytes choose limits, then each operation is a byte, a length and its data.
func FuzzCommit(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x08one\ntwo\n\x02\x00\x01\x03\r\n!"))
	f.Add([]byte("\x01\x01\x01\x00\x03\xe6\xbc\xa2\x00\x04\xf0\x9f\x98\x80\x02\x00\x00\x01\n"))
	f.Add([]byte("\x02\x02\x02\x00\x09aaaaaaaaa\x04\x00\x00\x03b\nc\x05\x00\x00\x02d\n"))
	f.Add([]byte("\x03\x03\x00\x40\xff\n\n\n\n\n\n\n\n\x41\xffxxxx\x02\x00\x43\x10\r"))
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) < 3 {
			return
		}
		m := &model{limits: Limits{
			Lines:   []int{1, 3, 50, 10_000}[program[0]%4],
			Bytes:   []int64{1, 20, 3000, 1 << 20}[program[1]%4],
			MaxLine: []int{4, 7, 300, 1 << 20}[program[2]%4],
		}}
		now := int64(1)
		j := NewJob(m.limits, func() int64 { return now })
		r := rand.New(rand.NewPCG(uint64(len(program)), uint64(program[2])))
		shrinks := 4
		for program = program[3:]; len(program) >= 2; {
			op, n := program[0], min(int(program[1]), len(program)-2)
			data := program[2 : 2+n]
			program = program[2+n:]
			now += int64(op) * 10_000
			k := Kind(op & 1)
			s := j.Stream(k)
			switch op >> 1 & 7 {
			case 1:
				s.Finish()
				m.finish(k, now)
			case 2:
				s.Reclaim()
				m.reclaim(k)
			case 3:
				if shrinks > 0 {
					shrinks--
					s.Shrink()
				}
			case 4:
				var err error
				if j, err = reloaded(j, m.limits, func() int64 { return now }); err != nil {
					t.Fatalf("limits %+v: %v", m.limits, err)
				}
			default:
				for range 1 << (op >> 5) { // up to 128 times over, to get through chunks
					c := copy(s.Space(), data)
					s.Commit(c)
					m.commit(k, data[:c], now)
				}
			}
			if err := m.look(j, r); err != nil {
				t.Fatalf("limits %+v, op %x: %v", m.limits, op, err)
			}
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range fragments {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := whatwg(b)
		if got := clean(string(b)); got != want {
			t.Errorf("clean(%q) = %q, want %q", b, got, want)
		}
		if got := textLen(b); got != len(want) {
			t.Errorf("textLen(%q) = %d, want %d", b, got, len(want))
		}
	})
}

// FuzzLoad: whatever the bytes are, Load gives an error or a job that can be read
// and written.
func FuzzLoad(f *testing.F) {
	j := NewJob(Limits{}, nil)
	for _, data := range [][]byte{{}, {1}, savedOf(j)} {
		f.Add(data)
	}
	put(j.Stream(Stdout), []byte("one\ntwo\r\nwaiting"))
	put(j.Stream(Stderr), []byte("three\n"))
	f.Add(savedOf(j))
	j.Stream(Stdout).Finish()
	j.Stream(Stderr).Reclaim()
	f.Add(savedOf(j))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := Load(bytes.NewReader(data), Limits{Lines: 100, Bytes: 4096, MaxLine: 512}, nil)
		if err != nil {
			if !errors.Is(err, ErrSaved) {
				t.Fatal(err)
			}
			return
		}
		j.After(0, SelBoth, 0, 0)
		j.Tail(10, SelStdout, 100)
		put(j.Stream(Stderr), []byte("more\n"))
		j.Stat(Stderr)
	})
}
