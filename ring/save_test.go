package ring

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func savedOf(j *Job) []byte {
	var b bytes.Buffer
	if err := j.Save(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// reloaded is the job after a way through Save and Load.
func reloaded(j *Job, l Limits, now func() int64) (*Job, error) {
	return Load(bytes.NewReader(savedOf(j)), l, now)
}

// What follows a saved ring in a buffered reader is left there.
func TestLoadLeavesTheRest(t *testing.T) {
	j := NewJob(Limits{}, nil)
	put(j.Stream(Stderr), []byte("a line\nand half"))
	r := bufio.NewReader(io.MultiReader(bytes.NewReader(savedOf(j)), strings.NewReader("the rest")))
	again, err := Load(r, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "the rest" {
		t.Errorf("left %q", rest)
	}
	put(again.Stream(Stderr), []byte(" a line\n"))
	if p := again.After(1, SelBoth, 0, 0); len(p.Lines) != 1 || p.Lines[0].Text != "and half a line" || p.Lines[0].Seq != 2 {
		t.Errorf("%+v", p)
	}
}

func TestLoadRefuses(t *testing.T) {
	j := NewJob(Limits{}, nil)
	put(j.Stream(Stdout), []byte("one\ntwo\n"))
	whole := savedOf(j)
	for n := range whole {
		if _, err := Load(bytes.NewReader(whole[:n]), Limits{}, nil); !errors.Is(err, ErrSaved) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	other := bytes.Clone(whole)
	other[0] = 99
	if _, err := Load(bytes.NewReader(other), Limits{}, nil); !errors.Is(err, ErrSaved) {
		t.Errorf("another version: %v", err)
	}
}

// Of what is saved in part the rest counts as dropped, and what follows has the
// numbers that it would have had.
func TestSaveNewest(t *testing.T) {
	j := NewJob(Limits{}, nil)
	for i := range 50 {
		put(j.Stream(Stdout), fmt.Appendf(nil, "out %d\n", i))
		put(j.Stream(Stderr), fmt.Appendf(nil, "err %d\n", i))
	}
	put(j.Stream(Stdout), []byte("half"))
	for _, n := range []uint64{0, 1, 7, 50, 51} {
		var b bytes.Buffer
		if err := j.SaveNewest(&b, n); err != nil {
			t.Fatal(err)
		}
		again, err := Load(&b, Limits{}, nil)
		if err != nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		put(again.Stream(Stdout), []byte(" a line\n"))
		put(again.Stream(Stderr), []byte("more\n"))
		p, kept := again.After(0, SelBoth, 0, 0), min(n, 50)
		if uint64(len(p.Lines)) != 2*kept+2 || p.Loss[Stdout].Dropped != 50-kept || p.Loss[Stderr].Dropped != 50-kept {
			t.Fatalf("%d lines: %d are there, loss %v", n, len(p.Lines), p.Loss)
		}
		last := p.Lines[2*kept:]
		if last[0].Text != "half a line" || last[0].Seq != 101 || last[1].Text != "more" || last[1].Seq != 102 {
			t.Errorf("%d lines: %v", n, last)
		}
		if st := again.Stat(Stdout); st.Lines != 51 {
			t.Errorf("%d lines: %+v", n, st)
		}
		if kept > 0 && (p.Lines[0].Text != fmt.Sprintf("out %d", 50-kept) || p.Lines[0].Seq != 101-2*kept) {
			t.Errorf("%d lines begin with %v", n, p.Lines[0])
		}
	}
}
