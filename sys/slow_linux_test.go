package sys_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// TestSlowFileSystem: a program whose file system does not answer is given up
// in time, and neither the collector nor other jobs wait for it.
func TestSlowFileSystem(t *testing.T) {
	for _, m := range []sys.Mechanism{sys.CgroupV2, sys.ProcessGroup} {
		for _, c := range []struct {
			name    string
			lookups int // that are answered before the file system falls silent
		}{
			{"silent at the look", 0},
			{"silent at the exec", 1},
		} {
			t.Run(string(m)+"/"+c.name, func(t *testing.T) {
				h := newHost(t, m)
				needs(t, h, m)
				mount := mountSlow(t)
				mount.allow(c.lookups)
				null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
				defer null.Close()
				sp := sys.Spec{Path: mount.dir + "/program", Argv: []string{"program"}, Dir: "/", Stdio: [3]*os.File{null, null, null}}
				result := make(chan error, 1)
				go func() {
					tree, err := h.Start(t.Context(), sp)
					if err == nil {
						tree.Release()
					}
					result <- err
				}()
				for collected := false; ; {
					select {
					case err := <-result:
						if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeStartTimeout {
							t.Fatalf("%v", err)
						}
						if !collected {
							t.Error("the start ended before the collector ran once")
						}
						return
					default:
					}
					// The file system stays silent: what waits for it does so to the
					// end of the test.
					runtime.GC()
					r := program(t, h, "/bin/true")
					wait(t, "exited", r.Exited())
					collected = true
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	}
}

// TestSlowButAnswering: it still runs.
func TestSlowButAnswering(t *testing.T) {
	h := newHost(t, "")
	mount := mountSlow(t)
	mount.allow(100)
	r := program(t, h, mount.dir+"/program")
	wait(t, "empty", r.Empty())
	if e := r.Exit(); e.Code != 0 || e.Signal != 0 {
		t.Errorf("%+v", e)
	}
}
