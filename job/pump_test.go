package job

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

func TestPumpSeesShortReads(t *testing.T) {
	type read struct {
		n     int
		after time.Duration // since the one before
		nap   bool          // is it one of many short ones
	}
	for _, c := range []struct {
		name  string
		reads []read
	}{
		{"line by line", []read{{80, 0, false}, {80, 20 * time.Microsecond, true}, {240, 200 * time.Microsecond, true}}},
		{"now and then", []read{{80, 0, false}, {80, time.Millisecond, false}, {80, time.Hour, false}}},
		{"large pieces", []read{{64 << 10, 0, false}, {64 << 10, 0, false}, {napBelow, 0, false}}},
		{"the end of a large piece", []read{{64 << 10, 0, false}, {500, 0, false}, {64 << 10, 0, false}, {500, 0, false}}},
		{"as much as there was room for", []read{{2 << 10, 0, false}, {2 << 10, 0, false}, {80, 0, false}}},
		{"short ones after it", []read{{64 << 10, 0, false}, {500, 0, false}, {500, 0, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pump
			now := time.Unix(1_000_000, 0)
			for i, r := range c.reads {
				now = now.Add(r.after)
				if got := p.hurried(r.n, r.n == 2<<10, now); got != r.nap {
					t.Errorf("read %d, of %d bytes: %v, want %v", i, r.n, got, r.nap)
				}
			}
		})
	}
}

// What a writer of small pieces says is all there and in order, though it is
// read in batches, and also when the drain meets a burst.
func TestPumpBurst(t *testing.T) {
	s := &Store{}
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	j := ring.NewJob(ring.Limits{}, nil)
	p := s.newPump(r, j.Stream(ring.Stdout))
	go p.run()
	const lines = 2000
	for n := range lines {
		if _, err := fmt.Fprintf(w, "%d\n", n); err != nil {
			t.Fatal(err)
		}
		if n == lines/2 { // a pause: the pump waits in the poller again
			if err := j.Await(t.Context(), func() bool { return j.Head(ring.SelStdout) == lines/2+1 }); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.drain()
	w.Close()
	<-p.eof
	page := j.After(0, ring.SelStdout, 0, 0)
	if len(page.Lines) != lines {
		t.Fatalf("%d lines, want %d", len(page.Lines), lines)
	}
	for n, l := range page.Lines {
		if l.Text != strconv.Itoa(n) {
			t.Fatalf("line %d is %q", n, l.Text)
		}
	}
}

// pairOf is two pumps of one job, and the ends that a child would write to.
func pairOf(t *testing.T) (j *ring.Job, pumps []*pump, ends []*os.File) {
	t.Helper()
	s := &Store{}
	j = ring.NewJob(ring.Limits{}, nil)
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		r, w, err := sys.NewPipe()
		if err != nil {
			t.Fatal(err)
		}
		pumps, ends = append(pumps, s.newPump(r, j.Stream(k))), append(ends, w)
	}
	pair(pumps, true)
	return j, pumps, ends
}

// What a napping pump has not read comes before what its other one has.
func TestPumpHearsTheOther(t *testing.T) {
	j, pumps, ends := pairOf(t)
	napping, speaking := pumps[0], pumps[1]
	if _, err := io.WriteString(ends[0], "before\n"); err != nil {
		t.Fatal(err)
	}
	go func() {
		asked := napping.nap(time.Hour)
		napping.take()
		close(asked)
	}()
	for j.Head(ring.SelStdout) == 0 {
		speaking.hearOther() // in vain until the nap has begun
		runtime.Gosched()
	}
	speaking.hearOther() // nobody naps: this does not wait
	for i, p := range pumps {
		p.close()
		ends[i].Close()
	}
}

// Two streams that speak in turns lose nothing, whoever naps when the other speaks.
func TestPumpsTogether(t *testing.T) {
	j, pumps, ends := pairOf(t)
	for _, p := range pumps {
		go p.run()
	}
	const lines = 3000
	var count [2]int
	for n := range lines {
		k := n / 100 % 2
		if n%37 == 0 {
			k = 1 - k
		}
		if _, err := fmt.Fprintln(ends[k], count[k]); err != nil {
			t.Fatal(err)
		}
		count[k]++
	}
	for i, p := range pumps {
		ends[i].Close()
		<-p.eof
	}
	for k, n := range count {
		page := j.After(0, ring.Sel(1<<k), 0, 0)
		if len(page.Lines) != n {
			t.Errorf("stream %d has %d lines, want %d", k, len(page.Lines), n)
		}
		for i, l := range page.Lines {
			if l.Text != strconv.Itoa(i) {
				t.Fatalf("stream %d: line %d is %q", k, i, l.Text)
			}
		}
	}
}

// A stream does not nap beside one that speaks, unless their order is lost anyway.
func TestPumpMindsTheOther(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name         string
		apart, quiet time.Duration // between two reads; since the other one spoke
		want         bool
	}{
		{"the other is silent", 200 * time.Microsecond, time.Second, true},
		{"the other speaks", 200 * time.Microsecond, time.Millisecond, false},
		{"a flood", 20 * time.Microsecond, time.Millisecond, true},
	} {
		var p, other pump
		pair([]*pump{&p, &other}, true)
		other.spoke.Store(now.Add(-c.quiet).UnixNano())
		p.hurried(80, false, now.Add(-c.apart))
		if got := p.hurried(80, false, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
