package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/belfry-dev/belfry/ring"
)

// heap is how many bytes are in use.
func heap() int64 {
	for range 3 { // finalizers and what they let go
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkMemory tells what a stream takes: nothing in it, full of lines of a
// size, shrunk at its end, and reclaimed.
func BenchmarkMemory(b *testing.B) {
	var base int64
	for _, size := range []int{20, 80, 1000} {
		b.Run(fmt.Sprintf("line=%d", size), func(b *testing.B) {
			const streams = 16
			jobs := make([]*ring.Job, streams)
			data, _ := batch(size)
			stage := func(name string, text float64, do func(s *ring.Stream)) {
				for _, j := range jobs {
					do(j.Stream(ring.Stdout))
				}
				now := float64(heap()-base) / streams
				b.ReportMetric(now, name+"-B/stream")
				if text > 0 {
					b.ReportMetric(now/text, name+"-times-text")
				}
			}
			for b.Loop() {
				clear(jobs)
				base = heap()
				for i := range jobs {
					jobs[i] = ring.NewJob(ring.Limits{}, nil)
				}
				b.ReportMetric(float64(heap()-base)/streams, "empty-B/stream")
				text := 0.0
				stage("full", 0, func(s *ring.Stream) {
					for range 40 {
						source{s.Space, s.Commit}.feed(data)
					}
				})
				for _, l := range jobs[0].After(0, ring.SelStdout, 0, 0).Lines {
					text += float64(len(l.Text))
				}
				stage("full", text, func(*ring.Stream) {})
				stage("shrunk", text, func(s *ring.Stream) { s.Finish(); s.Shrink() })
				stage("reclaimed", 0, (*ring.Stream).Reclaim)
			}
			runtime.KeepAlive(jobs)
		})
	}
}
