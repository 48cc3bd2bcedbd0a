package sys_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/linux"
	"github.com/belfry-dev/belfry/sys"
)

// TestStuckStart: a process that is born in a frozen group and so never reaches
// its exec is given up in time, and ended, and so is whoever waits for its turn. The
// thread that waits for the exec has a processor of the runtime, so it takes a
// second one to give up, and a collector that does not ask for the first.
func TestStuckStart(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor")
	}
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	group, err := linux.MakeCgroup(parentOfTests(), "stuck-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	held, err := group.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	defer group.Remove()
	if err := os.WriteFile(filepath.Join(group.Path(), "cgroup.freeze"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	start, stop := sys.LooseSpawner(held, 100*time.Millisecond)
	defer stop()
	// Now and then the kernel stops one only after its exec: that one has started.
	for stuck := false; !stuck; {
		var all sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			all.Go(func() { errs[i] = start("/bin/true") })
		}
		all.Wait()
		for _, err := range errs {
			se, ok := errors.AsType[*sys.StartError](err)
			if stuck = stuck || ok; err != nil && (!ok || se.Code != sys.CodeStartTimeout) {
				t.Fatal(err)
			}
		}
	}
	if list := group.Procs(); len(list) != 0 {
		t.Errorf("processes %v", list)
	}
}

// TestThreadsLast: a host without a thread of its own starts trees from any
// goroutine, many at once.
func TestThreadsLast(t *testing.T) {
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h, err := sys.NewHost(sys.HostOptions{Parent: parentOfTests(), Mechanism: m, ThreadsLast: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			})
			needs(t, h, m)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range rounds(t, 100) {
						sp := specOfTrue(t)
						if m == sys.PIDNamespace {
							sp.Want = sys.LevelStrict
						}
						r, err := h.Start(ctxForever, sp)
						if err != nil {
							t.Error(err)
							return
						}
						wait(t, "empty", r.Empty())
						if e := r.Exit(); e.Code != 0 || e.Signal != 0 {
							t.Errorf("%+v", e)
						}
						if err := r.Release(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
