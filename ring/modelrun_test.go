package ring

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// put commits b in as many steps as Space asks for.
func put(s *Stream, b []byte) {
	for len(b) > 0 {
		n := copy(s.Space(), b)
		s.Commit(n)
		b = b[n:]
	}
}

// fragments are what random output is made of.
var fragments = []string{
	"a", "bc", "\n", "\n", "\n\n\n\n", "\r\n", "\r", "\r\r\n", "hello world", "\x00", "é", "漢", "😀",
	"\xe6", "\xbc", "\xa2", "\xf0\x9f", "\xf0\x9f\x98", "\x80\x80\x80\x80\x80", "\xff\xfe", "\xed\xa0\x80",
	"\xe0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "0123456789012345678901234567890123456789\n",
}

func randomOutput(r *rand.Rand, n int) []byte {
	var b []byte
	switch r.IntN(6) {
	case 0: // one long line
		b = bytes.Repeat([]byte{byte('a' + r.IntN(26))}, n)
	case 1: // empty lines
		b = bytes.Repeat([]byte("\n"), n)
	case 2: // lines of one length
		l := bytes.Repeat([]byte("x"), r.IntN(200))
		for len(b) < n {
			b = append(append(b, l...), '\n')
		}
	case 3: // one long line of characters
		b = bytes.Repeat([]byte("漢"), n/3+1)
	default:
		for len(b) < n {
			b = append(b, fragments[r.IntN(len(fragments))]...)
		}
	}
	return b[:n]
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func TestModel(t *testing.T) {
	rounds := 120
	if testing.Short() || raced { // one goroutine: nothing for the detector
		rounds = 20
	}
	for seed := range uint64(rounds) {
		if err := modelRun(rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func modelRun(r *rand.Rand) error {
	now := int64(1_700_000_000_000_000_000)
	m := &model{limits: Limits{
		Lines:   pick(r, 1, 2, 7, 100, 5000, 10_000),
		Bytes:   pick(r, int64(1), 10, 1000, 50_000, 200_000, 1<<20),
		MaxLine: pick(r, 4, 5, 16, 1000, 5000, 70_000, 150_000),
	}}
	j := NewJob(m.limits, func() int64 { return now })
	budget := pick(r, 500, 20_000, 300_000)
	shrinks, ops := 4, 40+r.IntN(200)
	for op := range ops {
		now += pick(r, int64(0), 1000, 400_000, 2_000_000)
		k := Kind(r.IntN(2))
		s := j.Stream(k)
		switch x := r.IntN(100); {
		case x < 80:
			n := pick(r, 1, 1, 3, 50, 2000, 70_000) * (1 + r.IntN(3))
			if n > budget {
				n = r.IntN(100)
			}
			b := randomOutput(r, n)
			budget -= n
			for len(b) > 0 {
				c := min(len(b), pick(r, 1, 2, 100, 5000, 1<<20, 1<<20))
				c = copy(s.Space(), b[:c])
				s.Commit(c)
				m.commit(k, b[:c], now)
				b = b[c:]
				if r.IntN(500) == 0 {
					s.Finish()
					m.finish(k, now)
				}
			}
		case x < 90:
			s.Finish()
			m.finish(k, now)
		case x < 93 && shrinks > 0:
			shrinks--
			s.Shrink()
		case x < 94 && op > ops/2:
			s.Reclaim()
			m.reclaim(k)
		case x < 97:
			var err error
			if j, err = reloaded(j, m.limits, func() int64 { return now }); err != nil {
				return fmt.Errorf("limits %+v, op %d: %w", m.limits, op, err)
			}
		}
		if err := m.look(j, r); err != nil {
			return fmt.Errorf("limits %+v, op %d: %w", m.limits, op, err)
		}
	}
	return nil
}

// look compares what the job shows with the model.
func (m *model) look(j *Job, r *rand.Rand) error {
	if err := m.counts(j); err != nil {
		return err
	}
	sel := pick(r, SelStdout, SelStderr, SelBoth, SelBoth)
	cur := pick(r, 0, m.seq, m.seq+5, r.Uint64N(m.seq+1), m.seq-min(m.seq, r.Uint64N(50)))
	if err := m.after(j, cur, sel, pick(r, 0, 0, 1, 10, 300), pick(r, 0, 0, 1, 100, 5000)); err != nil {
		return err
	}
	return m.tail(j, pick(r, 0, 1, 3, 100, 20_000), sel, pick(r, 0, 0, 1, 100, 5000))
}
