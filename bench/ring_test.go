package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// batch gives about 64 KiB of lines of size bytes, terminator included, and how many.
func batch(size int) (b []byte, lines int) {
	lines = max(64<<10/size, 1)
	return []byte(strings.Repeat(strings.Repeat("x", size-1)+"\n", lines)), lines
}

// source is where a writer reads to: the next bytes to read into, and taking in
// the first n of them.
type source struct {
	space func() []byte
	take  func(n int)
}

// feed copies b to the source as read(2) would, and has it taken in.
func (s source) feed(b []byte) {
	for len(b) > 0 {
		n := copy(s.space(), b)
		s.take(n)
		b = b[n:]
	}
}

// prime puts lines of size bytes wherever the source gives room, from the start
// and no half ones, until it gives the same memory again; then again needs no
// copy. It gives how many lines were taken in.
func (s source) prime(size int) (lines int) {
	data, _ := batch(size)
	for range 200 {
		to := s.space()
		n := copy(to[:len(to)/size*size], data)
		s.take(n)
		lines += n / size
	}
	return lines
}

// again has lines of size bytes taken in that prime left there, as if read(2) had
// put them there, and gives how many.
func (s source) again(size int) (lines int) {
	lines = len(s.space()) / size
	s.take(lines * size)
	return lines
}

// made is a store that is measured.
type made struct {
	source
	follow func(context.Context)
	taken  func() int // lines it ever took in
}

// store makes ours, or the baseline with its lock taken once a batch or once a line.
type store struct {
	name string
	gate float64 // how many times faster than it ours must be, with AVX2
	make func() made
}

var stores = []store{
	{"ours", 1, func() made {
		j := ring.NewJob(ring.Limits{}, nil)
		s := j.Stream(ring.Stdout)
		follow := func(ctx context.Context) {
			var cur uint64
			for {
				if j.Await(ctx, func() bool { return j.Head(ring.SelStdout) > cur }) != nil {
					return
				}
				cur = j.After(cur, ring.SelStdout, 200, 0).Next
			}
		}
		return made{source{s.Space, s.Commit}, follow, func() int { return int(j.Stat(ring.Stdout).Lines) }}
	}},
	{"batched", 10, func() made {
		b := newBaseline()
		return made{source{b.space, b.take}, b.follow, b.taken}
	}},
	{"linewise", 12, func() made {
		b := newBaseline()
		return made{source{b.space, b.takeLines}, b.follow, b.taken}
	}},
}

// followers runs n readers until stop is called.
func followers(n int, follow func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { follow(ctx) })
	}
	return func() { cancel(); wg.Wait() }
}

// perLine reports what one line costs.
func perLine(b *testing.B, lines int, start runtime.MemStats) {
	var end runtime.MemStats
	runtime.ReadMemStats(&end)
	n := float64(b.N) * float64(lines)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/line")
	b.ReportMetric(float64(end.Mallocs-start.Mallocs)/n, "allocs/line")
	b.ReportMetric(float64(end.NumGC-start.NumGC), "GCs")
}

// BenchmarkAppend takes in 64 KiB of lines an operation, and copies them there first.
func BenchmarkAppend(b *testing.B) {
	for _, st := range stores {
		for _, n := range []int{0, 1, 8} {
			for _, size := range []int{2, 10, 30, 80, 200, 1000, 64 << 10, 3 << 19} {
				b.Run(fmt.Sprintf("store=%s/followers=%d/line=%d", st.name, n, size), func(b *testing.B) {
					data, lines := batch(size)
					m := st.make()
					for range 40 {
						m.feed(data)
					}
					stop := followers(n, m.follow)
					b.SetBytes(int64(len(data)))
					var start runtime.MemStats
					runtime.ReadMemStats(&start)
					for b.Loop() {
						m.feed(data)
					}
					perLine(b, lines, start)
					stop()
				})
			}
		}
	}
}

// BenchmarkTakeOnly is BenchmarkAppend without the copy, as when read(2) puts the
// bytes where they are wanted.
func BenchmarkTakeOnly(b *testing.B) {
	for _, st := range stores {
		for _, size := range []int{2, 10, 80, 1000} {
			b.Run(fmt.Sprintf("store=%s/line=%d", st.name, size), func(b *testing.B) {
				m := st.make()
				m.prime(size)
				lines := 0
				for b.Loop() {
					lines += m.again(size)
				}
				b.SetBytes(int64(lines / b.N * size))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(lines), "ns/line")
			})
		}
	}
}

// BenchmarkFloor shows what the parts cost in plain Go: the copy, and finding the
// newlines.
func BenchmarkFloor(b *testing.B) {
	for _, size := range []int{2, 10, 80, 1000} {
		data, lines := batch(size)
		to := make([]byte, len(data))
		ends := make([]uint32, lines)
		for _, f := range []struct {
			name string
			do   func()
		}{
			{"copy", func() { copy(to, data) }},
			{"IndexByte", func() { splitIndex(data, ends) }},
			{"words", func() { splitWords(data, ends) }},
		} {
			b.Run(fmt.Sprintf("%s/line=%d", f.name, size), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					f.do()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
			})
		}
	}
}

func splitIndex(data []byte, ends []uint32) {
	for n, at := 0, 0; n < len(ends); n++ {
		k := bytes.IndexByte(data[at:], '\n')
		if k < 0 {
			return
		}
		at += k + 1
		ends[n] = uint32(at)
	}
}

func splitWords(data []byte, ends []uint32) {
	n := 0
	for at := 0; at+8 <= len(data); at += 8 {
		x := binary.LittleEndian.Uint64(data[at:]) ^ 0x0a0a0a0a0a0a0a0a
		for m := ^((x&0x7f7f7f7f7f7f7f7f + 0x7f7f7f7f7f7f7f7f) | x | 0x7f7f7f7f7f7f7f7f); m != 0; m &= m - 1 {
			ends[n] = uint32(at + bits.TrailingZeros64(m)/8 + 1)
			n++
		}
	}
}

// BenchmarkRead takes pages off a full stream of 80-byte lines, at rest and while
// a writer goes flat out; then what a line costs that writer is reported too.
func BenchmarkRead(b *testing.B) {
	data, lines := batch(80)
	for _, hot := range []bool{false, true} {
		for _, what := range []string{"Tail20", "Page200", "All"} {
			for _, name := range []string{"ours", "baseline"} {
				var write func([]byte)
				var read func()
				if name == "ours" {
					j := ring.NewJob(ring.Limits{}, nil)
					s := j.Stream(ring.Stdout)
					write = source{s.Space, s.Commit}.feed
					read = map[string]func(){
						"Tail20":  func() { j.Tail(20, ring.SelStdout, 0) },
						"Page200": func() { j.After(j.Head(ring.SelStdout)-5000, ring.SelStdout, 200, 0) },
						"All":     func() { j.After(0, ring.SelStdout, 0, 0) },
					}[what]
				} else {
					bl := newBaseline()
					write = source{bl.space, bl.take}.feed
					read = map[string]func(){
						"Tail20":  func() { bl.tail(20) },
						"Page200": func() { bl.after(0, 200) },
						"All":     func() { bl.after(0, keepLines) },
					}[what]
				}
				b.Run(fmt.Sprintf("%s/hot=%v/store=%s", what, hot, name), func(b *testing.B) {
					for range 40 {
						write(data)
					}
					stop := make(chan struct{})
					var wg sync.WaitGroup
					var written atomic.Int64
					if hot {
						wg.Go(func() {
							for {
								select {
								case <-stop:
									return
								default:
									write(data)
									written.Add(int64(lines))
								}
							}
						})
					}
					before := written.Load()
					b.ReportAllocs()
					for b.Loop() {
						read()
					}
					if hot {
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(written.Load()-before, 1)), "writer-ns/line")
					}
					close(stop)
					wg.Wait()
				})
			}
		}
	}
}

// BenchmarkNotify is a publish of one line with n sleepers, and the time until
// the first of them runs.
func BenchmarkNotify(b *testing.B) {
	for _, n := range []int{0, 1, 8, 128} {
		b.Run(fmt.Sprintf("waiters=%d", n), func(b *testing.B) {
			j := ring.NewJob(ring.Limits{}, nil)
			s := j.Stream(ring.Stdout)
			line := []byte("a line\n")
			var first atomic.Int64
			var asleep sync.WaitGroup
			var all sync.WaitGroup
			ctx, cancel := context.WithCancel(context.Background())
			turns := make([]chan uint64, n)
			for i := range turns {
				turns[i] = make(chan uint64)
				all.Go(func() {
					for cur := range turns[i] {
						tests := 0
						err := j.Await(ctx, func() bool {
							if tests++; tests == 2 {
								asleep.Done() // tested with the gate in hand
							}
							return j.Head(ring.SelStdout) > cur
						})
						first.CompareAndSwap(0, int64(time.Since(epoch)))
						if err != nil {
							return
						}
						asleep.Done()
					}
				})
			}
			var cost, wake time.Duration
			for b.Loop() {
				if n > 0 {
					asleep.Add(n)
					cur := j.Head(ring.SelStdout)
					for _, t := range turns {
						t <- cur
					}
					asleep.Wait()
					asleep.Add(n)
					first.Store(0)
				}
				copy(s.Space(), line)
				t0 := time.Since(epoch)
				s.Commit(len(line))
				cost += time.Since(epoch) - t0
				if n > 0 {
					asleep.Wait()
					wake += time.Duration(first.Load()) - t0
				}
			}
			b.ReportMetric(float64(cost.Nanoseconds())/float64(b.N), "publish-ns")
			if n > 0 {
				b.ReportMetric(float64(wake.Nanoseconds())/float64(b.N), "first-awake-ns")
			}
			for _, t := range turns {
				close(t)
			}
			cancel()
			all.Wait()
		})
	}
}

var epoch = time.Now()
