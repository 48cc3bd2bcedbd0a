package detach

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
)

// side is one end of a journal in a test: a ring and the last record.
type side struct {
	ring     *ring.Job
	record   job.Snapshot
	at       int64
	caught   int
	restored int
}

func newSide() *side {
	s := &side{}
	s.ring = ring.NewJob(ring.DefaultLimits, func() int64 { return s.at })
	return s
}

func (s *side) Output(k job.Kind, at time.Time, b []byte) {
	s.at = at.UnixNano()
	for len(b) > 0 {
		n := copy(s.ring.Stream(k).Space(), b)
		s.ring.Stream(k).Commit(n)
		b = b[n:]
	}
}

func (s *side) Finish(k job.Kind, at time.Time) {
	s.at = at.UnixNano()
	s.ring.Stream(k).Finish()
}

func (s *side) Record(r job.Snapshot) { s.record = r }
func (s *side) CaughtUp()             { s.caught++ }

func (s *side) Restore(saved io.Reader) (err error) {
	s.restored++
	s.ring, err = ring.Load(saved, ring.DefaultLimits, func() int64 { return s.at })
	return err
}

// writer is the writing side with its own ring beside it, as a supervisor has.
type writer struct {
	*side
	w *journal
}

func newWriter(t *testing.T, dir string, growth int64) *writer {
	t.Helper()
	x := &writer{side: newSide()}
	w, err := newJournal(dir, func(to io.Writer, n uint64) error { return x.ring.SaveNewest(to, n) }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	w.growth = growth
	x.w = w
	t.Cleanup(func() { w.f.Close() })
	return x
}

func (x *writer) say(k job.Kind, text string) {
	at := time.Now()
	x.w.Output(k, at, []byte(text))
	x.Output(k, at, []byte(text))
}

func (x *writer) finish(k job.Kind) {
	at := time.Now()
	x.w.Finish(k, at)
	x.Finish(k, at)
}

// same compares all that two sides show.
func same(t *testing.T, got, want *side) {
	t.Helper()
	var a, b bytes.Buffer
	if err := got.ring.Save(&a); err != nil {
		t.Fatal(err)
	}
	if err := want.ring.Save(&b); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a.Bytes(), b.Bytes()) {
		return
	}
	p, q := got.ring.After(0, ring.SelBoth, 0, 0), want.ring.After(0, ring.SelBoth, 0, 0)
	for i := range min(len(p.Lines), len(q.Lines)) {
		l, m := p.Lines[i], q.Lines[i]
		l.TimeNS, m.TimeNS = 0, 0
		if l != m {
			t.Fatalf("line %d is %.60v, want %.60v", i, l, m)
		}
	}
	if len(p.Lines) != len(q.Lines) || p.Next != q.Next || p.Loss != q.Loss {
		t.Fatalf("%d lines to %d, loss %v; want %d to %d, %v", len(p.Lines), p.Next, p.Loss, len(q.Lines), q.Next, q.Loss)
	}
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		if got.ring.Stat(k) != want.ring.Stat(k) || got.ring.Pending(k) != want.ring.Pending(k) {
			t.Fatalf("%v: %+v, want %+v", k, got.ring.Stat(k), want.ring.Stat(k))
		}
	}
}

func drained(t *testing.T, r *reader, over bool) {
	t.Helper()
	if got, err := r.drain(); err != nil || got != over {
		t.Fatalf("drain: %v %v, want %v", got, err, over)
	}
}

// Readers that begin early, late, and again and again all show what the writer
// has, through any number of files.
func TestJournal(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			x := newWriter(t, dir, []int64{200, 5_000, 60_000}[seed%3])
			early := newSide()
			er := &reader{dir: dir, to: early}
			defer er.close()
			for i := range 400 {
				k := job.Kind(rnd.IntN(2))
				switch n := rnd.IntN(20); {
				case n == 0:
					x.finish(k)
				case n == 1:
					s := job.Snapshot{ID: "x", State: job.Running, Label: fmt.Sprint(i)}
					x.w.Record(s)
					x.record = s
				default:
					text := ""
					for range rnd.IntN(6) {
						text += fmt.Sprintf("%d\xff\r\n", rnd.IntN(1_000_000))
					}
					x.say(k, text+"rest")
				}
				if rnd.IntN(4) == 0 {
					drained(t, er, false)
					same(t, early, x.side)
				}
				if rnd.IntN(40) == 0 {
					late := newSide()
					lr := &reader{dir: dir, to: late}
					drained(t, lr, false)
					lr.close()
					same(t, late, x.side)
					if late.record.Label != x.record.Label {
						t.Fatalf("record %q, want %q", late.record.Label, x.record.Label)
					}
				}
			}
			if n, _ := os.ReadDir(dir); len(n) > 3 { // two of the journal, one set aside
				t.Errorf("%d files", len(n))
			}
			x.w.Record(job.Snapshot{ID: "x", State: job.Exited})
			if err := x.w.end(); err != nil {
				t.Fatal(err)
			}
			drained(t, er, true)
			same(t, early, x.side)
			last := newSide()
			drained(t, &reader{dir: dir, to: last}, true)
			same(t, last, x.side)
			if early.record.State != job.Exited || last.record.State != job.Exited {
				t.Errorf("ended as %v and %v", early.record.State, last.record.State)
			}
			if n, _ := os.ReadDir(dir); len(n) != 1 {
				t.Errorf("%d files are left", len(n))
			}
		})
	}
}

// What is left of a job whose output was dropped are its counts and its record.
func TestReclaimed(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 1<<20)
	x.say(job.Stdout, "one\ntwo\n")
	x.w.Record(job.Snapshot{ID: "x", State: job.Running})
	if err := x.w.end(); err != nil {
		t.Fatal(err)
	}
	x.ring.Stream(ring.Stdout).Reclaim()
	x.ring.Stream(ring.Stderr).Reclaim()
	o := &owned{id: "x", dir: dir}
	o.Reclaim(job.Snapshot{ID: "x", State: job.Exited}, x.ring.Save)
	s := newSide()
	drained(t, &reader{dir: dir, to: s}, true)
	same(t, s, x.side)
	if st := s.ring.Stat(ring.Stdout); s.record.State != job.Exited || st.Lines != 2 || st.Bytes != 8 || st.Loss.Dropped != 2 {
		t.Errorf("%v %+v", s.record.State, st)
	}
	o.Remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// A reader that was left behind by more than the files that are kept goes on
// with what is kept, and knows what it has lost.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 1000)
	s := newSide()
	r := &reader{dir: dir, to: s}
	defer r.close()
	x.say(job.Stderr, "first\n")
	drained(t, r, false)
	for i := range 2000 {
		x.say(job.Stdout, fmt.Sprintf("line %d\n", i))
	}
	drained(t, r, false)
	same(t, s, x.side)
	if s.restored != 2 {
		t.Errorf("begun %d times, want twice", s.restored)
	}
}

// A reader that keeps up begins once and never again.
func TestKeepsUp(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 500)
	s := newSide()
	r := &reader{dir: dir, to: s}
	defer r.close()
	for i := range 300 {
		x.say(job.Stdout, fmt.Sprintf("line %d\n", i))
		drained(t, r, false)
	}
	if s.restored != 1 || r.number < 5 {
		t.Errorf("begun %d times in %d files", s.restored, r.number)
	}
	same(t, s, x.side)
}

// A frame that is there in part is told when it is whole, and one that never
// will be is passed over for the next file.
func TestTornFrame(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 1<<20)
	x.say(job.Stdout, "one\n")
	s := newSide()
	r := &reader{dir: dir, to: s}
	defer r.close()
	drained(t, r, false)
	torn := appendFrame(nil, frame{kind: frameOut, at: time.Now(), body: []byte("two\n")})
	if _, err := x.w.f.Write(torn[:len(torn)-2]); err != nil {
		t.Fatal(err)
	}
	drained(t, r, false)
	same(t, s, x.side)
	// As after a write that failed: the next file makes up for it.
	x.w.broken, x.w.next = true, time.Time{}
	x.Output(job.Stdout, time.Now(), []byte("two\n"))
	x.say(job.Stdout, "three\n")
	drained(t, r, false)
	same(t, s, x.side)
}

// What cannot be written is made up for when it can be again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 1<<20)
	x.say(job.Stdout, "one\n")
	x.w.f.Close() // every write fails from now on
	for i := range 10 {
		x.say(job.Stdout, fmt.Sprintf("lost %d\n", i))
	}
	if !x.w.broken {
		t.Fatal("it was not noticed")
	}
	x.w.next = time.Time{}
	x.say(job.Stderr, "again\n")
	s := newSide()
	r := &reader{dir: dir, to: s}
	defer r.close()
	drained(t, r, false)
	same(t, s, x.side)
}

func TestOtherFormat(t *testing.T) {
	dir := t.TempDir()
	b := appendFrame(nil, frame{kind: frameFormat, at: time.Now(), body: []byte("99")})
	if err := os.WriteFile(journalPath(dir, 1), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSide()
	if _, err := (&reader{dir: dir, to: s}).drain(); err == nil || s.restored != 0 {
		t.Errorf("%v, %d", err, s.restored)
	}
}

// FuzzJournal: whatever a file holds, reading it ends.
func FuzzJournal(f *testing.F) {
	b := appendFrame(nil, frame{kind: frameFormat, at: time.Unix(1, 0), body: []byte(format)})
	var saved bytes.Buffer
	if err := ring.NewJob(ring.DefaultLimits, nil).Save(&saved); err != nil {
		f.Fatal(err)
	}
	b = appendFrame(b, frame{kind: frameSaved, at: time.Unix(1, 0), body: saved.Bytes()})
	b = appendFrame(b, frame{kind: frameRecord, at: time.Unix(1, 0), body: []byte(`{"ID":"x","State":"running"}`)})
	f.Add(appendFrame(b, frame{kind: frameOut, at: time.Unix(2, 0), body: []byte("text\n")}))
	f.Add(appendFrame(b, frame{kind: frameEnd, at: time.Unix(2, 0)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(journalPath(dir, 1), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &reader{dir: dir, to: newSide()}
		defer r.close()
		r.drain()
	})
}
