package job

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// Of an adopted job that has ended is kept what it said, and no room for more.
func TestMirrorKeepsNoRoom(t *testing.T) {
	const jobs, most = 32, 9 << 10 // bytes a job; with the room it would be 15,000
	var left []Owned
	var all []*fakeOwned
	for n := range jobs {
		o := newFakeOwned(fmt.Sprintf("%08d-1111-4111-8111-111111111111", n))
		left, all = append(left, o), append(all, o)
	}
	s, _ := fakeStore(t, Config{Detacher: &fakeDetacher{left: left}, MaxRetained: ptr(jobs)})
	defer s.Close(context.Background())
	before := inUse()
	adopted := make(chan struct{})
	go func() { defer close(adopted); s.Adopt() }()
	for _, o := range all {
		var saved bytes.Buffer
		if err := ring.NewJob(ring.DefaultLimits, nil).Save(&saved); err != nil {
			t.Fatal(err)
		}
		o.tell(func(to Replica) {
			if err := to.Restore(&saved); err != nil {
				t.Error(err)
			}
		})
		o.say(Stdout, "one\ntwo\nhalf")
		o.say(Stderr, "three\n")
		o.tell(func(to Replica) { to.Finish(Stdout, time.Now()) })
		o.record(endedRecord(Order{ID: o.id, Created: time.Now()}, 0))
		o.tells <- nil
	}
	<-adopted
	for _, o := range all {
		j, ok := s.Get(o.id)
		if !ok {
			t.Fatal(o.id)
		}
		<-j.gone
		if p := j.Output(Query{Budget: MaxBudget}); len(p.Lines) != 4 || p.Lines[3].Whole() != "half" {
			t.Errorf("%+v", p.Lines)
		}
	}
	got := (inUse() - before) / jobs
	t.Logf("%d bytes a job", got)
	if got > most {
		t.Errorf("want at most %d", most)
	}
}

// inUse is the memory that somebody holds, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
