package ring

import (
	"bytes"
	"testing"
)

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
