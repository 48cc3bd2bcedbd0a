package bench

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

// The gates compare figures of one run only. The rounds of all sides are
// interleaved, their number is fixed, and the best of each is taken: what else
// the machine does is left out, and no side gets more tries than another.

// bestBy times each of the sides in turns, by a clock of choice, and gives its
// shortest time.
func bestBy(clock func() time.Duration, rounds int, sides ...func()) []time.Duration {
	took := make([]time.Duration, len(sides))
	for n := range rounds {
		for i, do := range sides {
			start := clock()
			do()
			if d := clock() - start; n == 0 || d < took[i] {
				took[i] = d
			}
		}
	}
	return took
}

// gateAnywhere is what the append gates are held at without AVX2.
const gateAnywhere = 2

// haveAVX2 tells whether the ring finds newlines with AVX2, as far as one can see
// from here: only Linux is asked.
func haveAVX2() bool {
	flags, err := os.ReadFile("/proc/cpuinfo")
	return runtime.GOARCH == "amd64" && (err != nil || bytes.Contains(flags, []byte(" avx2 ")))
}

// TestAppendGate: what taking in 80-byte lines costs next to the baseline, when a
// read has put them where each wants them. In processor time, the collector's
// included, and on one processor, so that it does not run beside anything.
func TestAppendGate(t *testing.T) {
	gated(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const (
		size    = 80
		rounds  = 60
		batches = 80 // 5 MiB: many times what is kept, collections included
	)
	all := make([]made, len(stores))
	lines := make([]int, len(stores)) // that were put in
	var sides []func()
	for i, s := range stores {
		all[i] = s.make()
		lines[i] = all[i].prime(size)
		sides = append(sides, func() {
			for range batches {
				lines[i] += all[i].again(size)
			}
		})
	}
	primed := slices.Clone(lines)
	fast := haveAVX2()
	took := bestBy(spent, rounds, sides...)
	for i, s := range stores {
		if n := all[i].taken(); n != lines[i] {
			t.Errorf("%s took in %d lines of %d", s.name, n, lines[i])
		}
		each := (lines[i] - primed[i]) / rounds
		if want := batches * (readBytes / size); each != want {
			t.Errorf("%s took in %d lines a round, want %d", s.name, each, want)
		}
		ratio := float64(took[i]) / float64(took[0])
		t.Logf("%s: %.1f ns a line, %.1f times ours", s.name, float64(took[i].Nanoseconds())/float64(each), ratio)
		gate := s.gate
		if !fast {
			gate = min(gate, gateAnywhere)
		}
		if ratio < gate {
			t.Errorf("append is %.1f times faster than the %s baseline, want %.0f", ratio, s.name, gate)
		}
	}
}

// TestAppendAllocates: a stream that has got to its size takes in lines without
// allocating, up to the length of a chunk. The runtime may allocate meanwhile for
// itself, so the best of three counts.
func TestAppendAllocates(t *testing.T) {
	for _, size := range []int{2, 10, 80, 1000} {
		data, lines := batch(size)
		ours := stores[0].make()
		for range 200 {
			ours.feed(data)
		}
		runtime.GC() // no collection goes on when counting starts
		const times = 500
		least := uint64(math.MaxUint64)
		for range 3 {
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			for range times {
				ours.feed(data)
			}
			runtime.ReadMemStats(&b)
			least = min(least, b.Mallocs-a.Mallocs)
		}
		if n := float64(least) / float64(times*lines); n > 1e-4 {
			t.Errorf("%d-byte lines: %.6f allocations a line", size, n)
		}
	}
}
