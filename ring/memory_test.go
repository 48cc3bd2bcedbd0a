package ring

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

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
