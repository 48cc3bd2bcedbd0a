package ring

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// stressLine gives line i of a stream: its index, and a body that follows from it.
func stressLine(b []byte, k Kind, i int) []byte {
	n := i % 97
	if i%1009 == 1008 {
		n = 90_000
	}
	b = append(strconv.AppendInt(b, int64(i), 10), ' ')
	for range n {
		b = append(b, byte('a'+(i+int(k))%26))
	}
	return append(b, '\n')
}

// checkStressLine tells whether text is a whole line of stream k, and which.
func checkStressLine(k Kind, text string) (int, error) {
	num, body, _ := strings.Cut(text, " ")
	i, err := strconv.Atoi(num)
	if err != nil {
		return 0, err
	}
	if want := stressLine(nil, k, i); string(want[:len(want)-1]) != text {
		return 0, fmt.Errorf("line %d of %v is torn: %.80q (body %d bytes)", i, k, text, len(body))
	}
	return i, nil
}

// follower reads a selection to the end and checks every page.
type follower struct {
	j    *Job
	sel  Sel
	cur  uint64
	seen [2]int // lines got or known lost
	last [2]uint64
	lost [2]uint64
}

func (f *follower) page(p Page) error {
	before := f.cur
	for _, l := range p.Lines {
		if l.Seq <= f.cur {
			return fmt.Errorf("seq %d again or out of order behind %d", l.Seq, f.cur)
		}
		f.cur = l.Seq
		i, err := checkStressLine(l.Kind, l.Text)
		if err != nil {
			return err
		}
		// A gap may only be what the page says was lost, and at its front.
		if i < f.seen[l.Kind] || i > f.seen[l.Kind] && uint64(i) > max(p.Loss[l.Kind].Dropped, f.lost[l.Kind]) {
			return fmt.Errorf("%v: line %d after %d, dropped %d, cursor was %d", l.Kind, i, f.seen[l.Kind]-1, p.Loss[l.Kind].Dropped, before)
		}
		f.seen[l.Kind] = i + 1
	}
	for k, l := range p.Loss {
		if l.Dropped < f.lost[k] || l.FirstKept < f.last[k] {
			return fmt.Errorf("%v: loss went back from %d, %d to %+v", Kind(k), f.lost[k], f.last[k], l)
		}
		f.lost[k], f.last[k] = l.Dropped, l.FirstKept
	}
	if p.Next < f.cur || len(p.Lines) > 0 && p.More && p.Next != f.cur {
		return fmt.Errorf("next %d, last seq %d, more %v", p.Next, f.cur, p.More)
	}
	f.cur = p.Next
	return nil
}

func (f *follower) run(ctx context.Context, ended *atomic.Bool, r *rand.Rand) error {
	for {
		done := false
		ready := func() bool {
			done = ended.Load()
			return done || f.j.Head(f.sel) > f.cur
		}
		var err error
		if pick(r, true, false) {
			err = f.j.Await(ctx, ready)
		} else {
			err = f.j.AwaitAfter(ctx, f.cur, ready)
		}
		if err != nil {
			return fmt.Errorf("slept on at %d of %d: %w", f.cur, f.j.Head(f.sel), err)
		}
		for {
			p := f.j.After(f.cur, f.sel, pick(r, 0, 1, 200, 1000), pick(r, 0, 0, 5000))
			if err := f.page(p); err != nil {
				return err
			}
			if !p.More {
				break
			}
		}
		if done && f.j.Head(f.sel) <= f.cur {
			return nil
		}
	}
}

// within checks that a page holds no more than the limits allow.
func within(p Page, l Limits) error {
	var lines, size [2]int
	for _, x := range p.Lines {
		lines[x.Kind]++
		size[x.Kind] += len(x.Text)
	}
	for k := range lines {
		if lines[k] > l.Lines || lines[k] > 1 && int64(size[k]) > l.Bytes {
			return fmt.Errorf("%v: a page of %d lines, %d bytes, limits %+v", Kind(k), lines[k], size[k], l)
		}
	}
	return nil
}

// tailer looks at the newest lines and at everything else that can be read.
func tailer(j *Job, ended *atomic.Bool, r *rand.Rand) error {
	for !ended.Load() {
		sel := pick(r, SelStdout, SelStderr, SelBoth)
		p := j.Tail(pick(r, 1, 20, 500), sel, pick(r, 0, 2000))
		last := [2]int{-1, -1}
		for n, l := range p.Lines {
			if n > 0 && l.Seq <= p.Lines[n-1].Seq {
				return fmt.Errorf("tail: seq %d behind %d", l.Seq, p.Lines[n-1].Seq)
			}
			i, err := checkStressLine(l.Kind, l.Text)
			if err != nil {
				return err
			}
			if last[l.Kind] >= 0 && i != last[l.Kind]+1 {
				return fmt.Errorf("tail: line %d of %v behind %d", i, l.Kind, last[l.Kind])
			}
			last[l.Kind] = i
		}
		if err := within(j.After(0, sel, 0, 0), j.limits); err != nil {
			return err
		}
		k := Kind(r.IntN(2))
		if s := j.Stat(k); sel != SelBoth && len(p.Lines) == 0 && p.Next > 0 {
			return fmt.Errorf("tail: no line of %d kept", s.Lines)
		}
		if strings.Contains(j.Pending(k), "\n") {
			return fmt.Errorf("pending text holds a newline")
		}
	}
	return nil
}

func write(s *Stream, k Kind, lines int, r *rand.Rand) {
	var b []byte
	for i := 0; i < lines; {
		for ; i < lines && len(b) < 70_000; i++ {
			b = stressLine(b, k, i)
		}
		for len(b) > 0 && (len(b) >= 60_000 || i == lines) {
			n := min(len(b), pick(r, 1, 100, 4000, 64<<10))
			n = copy(s.Space(), b[:n])
			s.Commit(n)
			b = append(b[:0], b[n:]...)
		}
	}
	s.Finish()
}

func TestStress(t *testing.T) {
	lines, rounds := 30_000, 2
	if testing.Short() {
		lines, rounds = 10_000, 1
	}
	for _, procs := range []int{1, 2, 4} {
		for round := range rounds {
			for _, l := range []Limits{{Lines: 500, Bytes: 128 << 10}, {Lines: 20, Bytes: 3000}, {}} {
				t.Run(fmt.Sprintf("procs=%d/lines=%d/%d", procs, l.Lines, round), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					stress(t, l, lines)
				})
			}
		}
	}
}

func stress(t *testing.T, l Limits, lines int) {
	j := NewJob(l, nil)
	var ended atomic.Bool
	var readers, writers sync.WaitGroup
	errs := make(chan error, 16)
	for i, sel := range []Sel{SelStdout, SelStderr, SelBoth, SelBoth} {
		readers.Go(func() {
			f := &follower{j: j, sel: sel}
			err := f.run(t.Context(), &ended, rand.New(rand.NewPCG(1, uint64(i))))
			for k := range f.seen {
				// Every line was got or is counted as lost.
				if n := max(uint64(f.seen[k]), f.lost[k]); err == nil && sel.has(Kind(k)) && n != uint64(lines) {
					err = fmt.Errorf("%v: ended at line %d, lost %d", Kind(k), f.seen[k], f.lost[k])
				}
			}
			if err != nil {
				errs <- fmt.Errorf("follower of %d: %w", sel, err)
			}
		})
	}
	readers.Go(func() {
		if err := tailer(j, &ended, rand.New(rand.NewPCG(2, 0))); err != nil {
			errs <- err
		}
	})
	for _, k := range []Kind{Stdout, Stderr} {
		writers.Go(func() { write(j.Stream(k), k, lines, rand.New(rand.NewPCG(3, uint64(k)))) })
	}
	writers.Wait()
	ended.Store(true)
	j.Notify()
	readers.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if got := j.Head(SelBoth); got != uint64(2*lines) {
		t.Errorf("head %d, want %d", got, 2*lines)
	}
}

// TestStressSmallCommits publishes line by line, so that readers meet the writers
// between any two of their steps as often as can be.
func TestStressSmallCommits(t *testing.T) {
	lines := 150_000
	if testing.Short() || raced {
		lines = 30_000
	}
	j := NewJob(Limits{Lines: 300, Bytes: 10_000}, nil)
	var ended atomic.Bool
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			f := &follower{j: j, sel: SelBoth}
			for done := false; !done; {
				done = ended.Load()
				if err := f.page(j.After(f.cur, SelBoth, 0, 0)); err != nil {
					t.Error(err)
					return
				}
				for k := range f.seen {
					if n := max(uint64(f.seen[k]), f.lost[k]); done && n != uint64(lines) {
						t.Errorf("%v: ended at line %d, lost %d", Kind(k), f.seen[k], f.lost[k])
					}
				}
			}
		})
	}
	readers.Go(func() {
		for !ended.Load() {
			if text := j.Pending(Stdout); text != "" && strings.Trim(text, "0123456789 abcdefghijklmnopqrstuvwxyz") != "" {
				t.Errorf("pending %q", text)
				return
			}
			if err := within(j.After(0, SelStdout, 0, 0), j.limits); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, k := range []Kind{Stdout, Stderr} {
		writers.Go(func() {
			s, b := j.Stream(k), []byte(nil)
			for i := range lines {
				b = stressLine(b[:0], k, i)
				if len(b) > 1000 { // more than is lent at first
					put(s, b)
					continue
				}
				h := i % len(b) // now and then in two steps
				s.Commit(copy(s.Space(), b[:h]))
				s.Commit(copy(s.Space(), b[h:]))
			}
			s.Finish()
		})
	}
	writers.Wait()
	ended.Store(true)
	readers.Wait()
}

// TestReclaimStress drops a stream while it is written and read.
func TestReclaimStress(t *testing.T) {
	for round := range 50 {
		j := NewJob(Limits{Lines: 100, Bytes: 64 << 10}, nil)
		s := j.Stream(Stdout)
		var wg sync.WaitGroup
		var ended atomic.Bool
		wg.Go(func() {
			write(s, Stdout, 1500, rand.New(rand.NewPCG(4, uint64(round))))
			ended.Store(true)
			j.Notify()
		})
		wg.Go(func() {
			for !ended.Load() {
				for _, l := range j.After(0, SelBoth, 50, 0).Lines {
					if _, err := checkStressLine(l.Kind, l.Text); err != nil {
						t.Error(err)
						return
					}
				}
				j.Pending(Stdout)
			}
		})
		wg.Go(func() {
			at := uint64(round * 20)
			if err := j.Await(t.Context(), func() bool { return ended.Load() || j.Head(SelStdout) >= at }); err != nil {
				t.Error(err)
			}
			s.Reclaim()
			s.Reclaim()
		})
		wg.Wait()
		st := j.Stat(Stdout)
		p := j.After(0, SelStdout, 0, 0)
		if len(p.Lines) != 0 || p.Next != st.Lines || p.Loss[Stdout].FirstKept != st.Lines || st.Loss.Dropped < st.Lines || st.Pending != 0 {
			t.Fatalf("after reclaim: %d lines, next %d, stat %+v", len(p.Lines), p.Next, st)
		}
	}
}
