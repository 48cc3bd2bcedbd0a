package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// spawnSide starts /bin/true, waits for its end and gives back what it holds.
type spawnSide struct {
	name string
	do   func() error
}

const spawned = "/bin/true"

// spawnSides are the ways that Go offers and ours on each rung; the first is
// what the others are compared with: the plain fork, exec and wait.
func spawnSides(tb testing.TB) []spawnSide {
	tb.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { null.Close() })
	fd := null.Fd()
	argv := []string{spawned}
	forkExec := func(attr *syscall.SysProcAttr) error {
		pid, err := syscall.ForkExec(spawned, argv, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}, Sys: attr})
		if err != nil {
			return err
		}
		if attr.PidFD != nil {
			defer syscall.Close(*attr.PidFD)
		}
		p, err := os.FindProcess(pid)
		if err == nil {
			_, err = p.Wait()
		}
		return err
	}
	sides := []spawnSide{
		{"ForkExec", func() error { return forkExec(&syscall.SysProcAttr{}) }},
		{"ForkExec+PidFD", func() error {
			var pidfd int
			return forkExec(&syscall.SysProcAttr{PidFD: &pidfd})
		}},
		{"StartProcess", func() error {
			p, err := os.StartProcess(spawned, argv, &os.ProcAttr{Files: []*os.File{null, null, null}})
			if err == nil {
				_, err = p.Wait()
			}
			return err
		}},
		{"exec", func() error {
			c := exec.Command(spawned)
			c.Stdin, c.Stdout, c.Stderr = null, null, null
			return c.Run()
		}},
	}
	sides = append(sides, spawnSide{"exec+writers", func() error {
		c := exec.Command(spawned)
		c.Stdout, c.Stderr = new(bytes.Buffer), new(bytes.Buffer)
		return c.Run()
	}})
	for _, m := range []sys.Mechanism{sys.ProcessGroup, sys.CgroupV2, sys.Subreaper} {
		do, _ := rungSide(tb, m)
		if err := do(); err != nil {
			tb.Logf("%s is left out: %v", m, err)
			continue
		}
		sides = append(sides, spawnSide{string(m), do})
	}
	return sides
}

// BenchmarkSpawn runs all sides in turns, so that what else the machine does
// meets each alike, and reports for each the median and how many times the
// first side's median that is: in a small process, and in one that has half a
// gigabyte in use, which a fork that copies tables would feel.
func BenchmarkSpawn(b *testing.B) {
	b.Run("small", benchSpawn)
	b.Run("large", func(b *testing.B) {
		ballast := make([]byte, 512<<20)
		for i := 0; i < len(ballast); i += os.Getpagesize() {
			ballast[i] = 1
		}
		benchSpawn(b)
		runtime.KeepAlive(ballast)
	})
}

func benchSpawn(b *testing.B) {
	sides := spawnSides(b)
	took := make([][]time.Duration, len(sides))
	for b.Loop() {
		for i, s := range sides {
			begin := time.Now()
			if err := s.do(); err != nil {
				b.Fatal(s.name, err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	base := median(took[0])
	for i, s := range sides {
		m := median(took[i])
		b.ReportMetric(float64(m.Microseconds()), s.name+"-p50-us")
		b.ReportMetric(float64(m)/float64(base), s.name+"-times")
	}
}

// BenchmarkSpawnWorkers is the plain fork, exec and wait by one and by two
// goroutines at once: exec and exit contend in the kernel.
func BenchmarkSpawnWorkers(b *testing.B) {
	bare := spawnSides(b)[0]
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			b.ResetTimer()
			for range workers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if err := bare.do(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "spawns/s")
		})
	}
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

// TestSpawnRatio prints the ratios of one short run.
func TestSpawnRatio(t *testing.T) {
	sides := spawnSides(t)
	const rounds = 60
	var does []func()
	for _, s := range sides {
		does = append(does, func() {
			if err := s.do(); err != nil {
				t.Fatal(s.name, err)
			}
		})
	}
	took := bestBy(func() time.Duration { return time.Since(epoch) }, rounds, does...)
	for i, s := range sides {
		t.Logf("%-16s best %6d us, %.2f times a bare start and wait", s.name, took[i].Microseconds(), float64(took[i])/float64(took[0]))
	}
}
