package ring

import (
	"bytes"
	"reflect"
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
