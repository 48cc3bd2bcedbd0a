package ring

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func texts(p Page) string {
	var t []string
	for _, l := range p.Lines {
		t = append(t, l.Text)
	}
	return strings.Join(t, "|")
}

func TestLongLine(t *testing.T) {
	const max = 1 << 20
	for _, extra := range []int{-1, 0, 1} {
		for _, step := range []int{1 << 16, 1<<16 - 1, 300_000} {
			j := NewJob(Limits{}, nil)
			s := j.Stream(Stdout)
			for b := bytes.Repeat([]byte("a"), max+extra); len(b) > 0; {
				n := copy(s.Space(), b[:min(step, len(b))])
				s.Commit(n)
				b = b[n:]
			}
			p := j.After(0, SelStdout, 0, 0)
			if extra <= 0 {
				if len(p.Lines) != 0 || len(j.Pending(Stdout)) != max+extra {
					t.Fatalf("%+d: cut early: %d lines", extra, len(p.Lines))
				}
				put(s, []byte("\n"))
				if p = j.After(0, SelStdout, 0, 0); len(p.Lines) != 1 || len(p.Lines[0].Text) != max+extra || p.Lines[0].Term != Newline {
					t.Fatalf("%+d: not one line", extra)
				}
				continue
			}
			if len(p.Lines) != 1 || len(p.Lines[0].Text) != max || p.Lines[0].Term != Split {
				t.Fatalf("%+d: %d lines", extra, len(p.Lines))
			}
			s.Finish()
			p = j.After(0, SelStdout, 0, 0)
			if texts(p) != "a" || p.Lines[0].Term != End || p.Loss[Stdout] != (Loss{Dropped: 1, FirstKept: 2}) {
				t.Fatalf("%+d: end %+v", extra, p)
			}
		}
	}
}

func TestReclaim(t *testing.T) {
	j := NewJob(Limits{}, nil)
	s := j.Stream(Stdout)
	put(s, []byte("1\n2\n3\n4\n5\n"))
	put(j.Stream(Stderr), []byte("e\n"))
	put(s, []byte("rest"))
	s.Reclaim()
	want := Loss{Dropped: 6, FirstKept: 5}
	if p := j.After(0, SelStdout, 0, 0); len(p.Lines) != 0 || p.Next != 5 || p.Loss[Stdout] != want {
		t.Errorf("%+v", p)
	}
	if p := j.Tail(10, SelBoth, 0); texts(p) != "e" || p.Next != 6 || p.Loss != [2]Loss{want, {FirstKept: 6}} {
		t.Errorf("%+v", p)
	}
	put(s, []byte("late\nlater\n"))
	s.Finish()
	s.Reclaim()
	s.Shrink()
	want.Dropped++
	if st := j.Stat(Stdout); st != (Stat{Lines: 5, Bytes: 25, Loss: want}) {
		t.Errorf("%+v", st)
	}
}

func TestCommitAgainstTheRules(t *testing.T) {
	s := NewJob(Limits{}, nil).Stream(Stdout)
	for name, f := range map[string]func(){
		"more than given":  func() { s.Commit(len(s.Space()) + 1) },
		"negative":         func() { s.Space(); s.Commit(-1) },
		"twice":            func() { s.Space(); s.Commit(1); s.Commit(1) },
		"void by Finish":   func() { s.Space(); s.Finish(); s.Commit(1) },
		"void by Shrink":   func() { s.Space(); s.Shrink(); s.Commit(1) },
		"without any room": func() { NewJob(Limits{}, nil).Stream(Stderr).Commit(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	s.Commit(0)
	put(s, []byte("works on\n"))
}

func TestSpace(t *testing.T) {
	s := NewJob(Limits{}, nil).Stream(Stdout)
	for i := range 3000 {
		b := s.Space()
		if want := min(minSpace, len(s.cur.buf)/2); len(b) < want {
			t.Fatalf("step %d: %d bytes, want %d", i, len(b), want)
		}
		s.Commit(copy(b, strings.Repeat("x", i%400)+"\n"))
	}
}

// TestFlood: who fills all the room there is gets more of it, others do not.
func TestFlood(t *testing.T) {
	for _, c := range []struct {
		name  string
		left  int // unused of each Space
		chunk int
	}{{"fills it", 0, floodChunk}, {"nearly fills it", 1, fullChunk}} {
		s := NewJob(Limits{}, nil).Stream(Stdout)
		line := []byte(strings.Repeat("x", 79) + "\n")
		most, ready := 0, 0
		for range 100 {
			b := s.Space()
			most = max(most, len(b))
			n := len(b) - c.left
			for at := 0; at < n; at += copy(b[at:n], line) {
			}
			s.Commit(n)
			ready = len(s.win.free)
		}
		if got := len(s.cur.buf); got != c.chunk || most > c.chunk || most < c.chunk-minSpace {
			t.Errorf("who %s has chunks of %d bytes and at most %d at a time, want %d", c.name, got, most, c.chunk)
		}
		if room := ready * c.chunk; room > max(freeRoom, c.chunk) {
			t.Errorf("who %s has %d bytes ready", c.name, room)
		}
	}
}

// TestReclaimBeforeCommit: what was read in full into room that is reclaimed
// meanwhile is a loss.
func TestReclaimBeforeCommit(t *testing.T) {
	j := NewJob(Limits{}, nil)
	s := j.Stream(Stdout)
	for len(s.Space()) < minSpace || len(s.cur.buf) < fullChunk {
		put(s, bytes.Repeat([]byte("x\n"), 1000))
	}
	b := s.Space()
	s.Reclaim()
	before := j.Stat(Stdout)
	s.Commit(copy(b, bytes.Repeat([]byte("x\n"), len(b))))
	if got := j.Stat(Stdout); got.Loss.Dropped != before.Loss.Dropped+1 || got.Lines != before.Lines {
		t.Errorf("%+v after %+v", got, before)
	}
}

// TestOverrun closes more chunks early than the table has slots: the oldest go,
// and are counted.
func TestOverrun(t *testing.T) {
	j := NewJob(Limits{Lines: 1000, Bytes: 1000}, nil)
	s := j.Stream(Stdout)
	const lines = 40
	for range lines {
		put(s, []byte("x\n"))
		s.Shrink()
	}
	p := j.After(0, SelStdout, 0, 0)
	kept := uint64(len(p.Lines))
	if kept == 0 || kept > uint64(len(s.table.Load().slots)) || p.Loss[Stdout] != (Loss{Dropped: lines - kept, FirstKept: lines - kept + 1}) {
		t.Errorf("%d kept, loss %+v", kept, p.Loss[Stdout])
	}
}

// TestPinnedChunk holds a chunk over its eviction: its bytes stay, and the
// writer goes on with another.
func TestPinnedChunk(t *testing.T) {
	j := NewJob(Limits{Bytes: 1000}, nil)
	s := j.Stream(Stdout)
	for range 5 { // to chunks of full size
		put(s, bytes.Repeat([]byte("a"), 40_000))
		put(s, []byte("\n"))
	}
	put(s, []byte("pinned\n"))
	var v view
	v.open(s)
	put(s, bytes.Repeat([]byte("bbbbbbbb\n"), 50_000))
	held := v.pin(0)
	for range cap(s.win.free) + 4 {
		for _, c := range s.win.free {
			if c == held {
				t.Fatal("a chunk with a reader in it is ready for use")
			}
		}
		put(s, bytes.Repeat([]byte("cccccccc\n"), 10_000))
		if s.cur == held {
			t.Fatal("a chunk with a reader in it is used again")
		}
	}
	if got := string(v.span(0, v.head-1, v.head)); got != "pinned\n" {
		t.Errorf("pinned text became %q", got)
	}
	v.close()
	if len(s.win.free) == 0 {
		t.Error("nothing is recycled")
	}
}

// TestChunkReferences takes the steps of a reader and the writer one by one.
func TestChunkReferences(t *testing.T) {
	c := newChunk(fullChunk)
	c.id = 7
	if c.enter(8) || c.refs.Load() != 0 {
		t.Fatal("entered another chunk")
	}
	if !c.enter(7) || c.seize() {
		t.Fatal("seized with a reader in it")
	}
	c.leave()
	if !c.seize() || c.enter(7) {
		t.Fatal("entered while the writer has it")
	}
	c.refs.Add(1) // a reader tries to enter and is stopped here
	c.id = 8
	c.open()
	if c.seize() {
		t.Fatal("seized with a reader on its way out")
	}
	c.refs.Add(-1)
	if c.enter(7) || !c.enter(8) || c.refs.Load() != 1 {
		t.Fatalf("references are off: %d", c.refs.Load())
	}
	c.open() // a chunk that was never seized stays as it is
	if c.refs.Load() != 1 {
		t.Fatal("opened twice")
	}
}

func TestAllocations(t *testing.T) {
	j := NewJob(Limits{}, nil)
	s := j.Stream(Stdout)
	batch := bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), 64<<10/80)
	for range 100 {
		put(s, batch)
	}
	if n := testing.AllocsPerRun(200, func() { put(s, batch) }); n != 0 {
		t.Errorf("%v allocations for 819 lines", n)
	}
	for name, f := range map[string]func(){
		"page": func() { j.After(j.Head(SelBoth)-500, SelBoth, 200, 0) },
		"tail": func() { j.Tail(20, SelBoth, 10_000) },
	} {
		if n := testing.AllocsPerRun(200, f); n > 2 {
			t.Errorf("%s: %v allocations, want the text and the lines", name, n)
		}
	}
	if n := testing.AllocsPerRun(200, func() { j.Stat(Stdout); j.Head(SelBoth); j.After(j.Head(SelBoth), SelBoth, 0, 0) }); n != 0 {
		t.Errorf("%v allocations to see that there is nothing new", n)
	}
}

// heap gives the live bytes that make leaves behind, and keeps them meanwhile.
func heap(make func() any) int {
	var a, b runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&a)
	keep := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&b)
	runtime.KeepAlive(keep)
	return int(b.HeapAlloc) - int(a.HeapAlloc)
}

func TestMemory(t *testing.T) {
	const jobs = 20
	fill := func(s *Stream, n int) {
		put(s, bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), n))
	}
	for _, c := range []struct {
		name string
		most int // bytes a job
		make func(*Job)
	}{
		{"empty", 8 << 10, func(j *Job) {}},
		{"reclaimed", 1536, func(j *Job) {
			fill(j.Stream(Stdout), 12_000)
			j.Stream(Stdout).Finish()
			j.Stream(Stdout).Reclaim()
		}},
		{"full", 135 * 80 * 10_000 / 100, func(j *Job) {
			fill(j.Stream(Stdout), 40_000)
			j.Stream(Stdout).Finish()
			j.Stream(Stdout).Shrink()
		}},
		{"few lines", 4 << 10, func(j *Job) {
			fill(j.Stream(Stdout), 10)
			j.Stream(Stdout).Finish()
			j.Stream(Stdout).Shrink()
		}},
	} {
		got := heap(func() any {
			var kept [jobs]*Job
			for i := range kept {
				kept[i] = NewJob(Limits{}, nil)
				c.make(kept[i])
			}
			return &kept
		}) / jobs
		t.Logf("%s: %d bytes a job", c.name, got)
		if got > c.most {
			t.Errorf("%s: %d bytes a job, want at most %d", c.name, got, c.most)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Stdout.String(): "stdout", Stderr.String(): "stderr", Kind(9).String(): "kind(9)",
		Newline.String(): "newline", Split.String(): "split", End.String(): "end", Term(9).String(): "term(9)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Stdout.Sel() != SelStdout || Stderr.Sel() != SelStderr {
		t.Error("selections")
	}
}

func TestNormalLimits(t *testing.T) {
	if got := (Limits{}).normal(); got != DefaultLimits {
		t.Errorf("%+v", got)
	}
	if got := (Limits{Lines: 1 << 30, Bytes: 1 << 40, MaxLine: 1}).normal(); got != (Limits{maxLines, maxBytes, minMaxLine}) {
		t.Errorf("%+v", got)
	}
	if maxLines > keptMask {
		t.Error("the head word cannot hold the limit of lines")
	}
}

func TestHeadWordWraps(t *testing.T) {
	const wrap = 1 << (64 - keptBits)
	for _, lines := range []uint64{0, 5, wrap - 1, wrap, wrap + 3, 7*wrap + 2} {
		for _, kept := range []uint64{0, 1, 5, maxLines} {
			if kept > lines {
				continue
			}
			for _, near := range []uint64{lines, lines + 1, lines + 1<<40, lines - min(lines, 1<<40)} {
				if got := unpackFloor(packHead(lines, kept), near); got != lines-kept {
					t.Fatalf("lines %d, kept %d, near %d: floor %d", lines, kept, near, got)
				}
			}
		}
	}
}

// TestEmptied: a store made of nothing but counts shows what the one does that was
// reclaimed, and goes on as that does.
func TestEmptied(t *testing.T) {
	for _, said := range [][2]string{{"1\n2\n3\nrest", "e\nf\n"}, {"", "e\n"}, {"waits", ""}, {"", ""}} {
		was := NewJob(Limits{Lines: 2}, nil)
		for k, text := range said {
			s := was.Stream(Kind(k))
			put(s, []byte(text))
			s.Reclaim()
		}
		again := Emptied([2]Stat{was.Stat(Stdout), was.Stat(Stderr)})
		for range 2 {
			for _, k := range []Kind{Stdout, Stderr} {
				if got, want := again.Stat(k), was.Stat(k); got != want {
					t.Errorf("%q, %v: %+v, want %+v", said, k, got, want)
				}
			}
			for _, sel := range []Sel{SelStdout, SelStderr, SelBoth} {
				if got, want := again.Head(sel), was.Head(sel); got != want {
					t.Errorf("%q, %v: head %d, want %d", said, sel, got, want)
				}
				for cur := range uint64(7) {
					if got, want := again.After(cur, sel, 0, 0), was.After(cur, sel, 0, 0); !reflect.DeepEqual(got, want) {
						t.Errorf("%q, %v after %d: %+v, want %+v", said, sel, cur, got, want)
					}
				}
			}
			var a, b bytes.Buffer
			if again.Save(&a) != nil || was.Save(&b) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%q: saved %x, want %x", said, a.Bytes(), b.Bytes())
			}
			put(again.Stream(Stdout), []byte("late\n"))
			put(was.Stream(Stdout), []byte("late\n"))
		}
	}
}
