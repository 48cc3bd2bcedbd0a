package sys_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/linux"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("stops-helpers", stopsHelpers) }

// stopsHelpers stops its own keeper and spare shim, tells which they are, and stays.
func stopsHelpers([]string) int {
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Subreaper})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	keeper, spare := sys.HelpersOf(h)
	for _, pid := range []int{spare, keeper} {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println(keeper, spare)
	select {}
}

// TestSweepContinues: helpers that are stopped, all of them, when their supervisor
// is killed, end with the next sweep.
func TestSweepContinues(t *testing.T) {
	needs(t, newHost(t, sys.Subreaper), sys.Subreaper)
	path, argv, env := systest.Command("stops-helpers")
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var keeper, spare int
	if _, serr := fmt.Sscan(line, &keeper, &spare); err != nil || serr != nil {
		t.Fatal(line, err, serr)
	}
	records := filepath.Join(t.TempDir(), "records")
	isThere := func(pid int) bool { return syscall.Kill(pid, 0) == nil }
	h := sweeping(t, records)
	ids := map[int]sys.ID{}
	for _, pid := range []int{keeper, spare} {
		if ids[pid], err = h.Lookup(pid); err != nil {
			t.Fatal(err)
		}
	}
	for pid := range ids {
		until(t, "its stop", func() bool {
			st, err := linux.ReadStat("/proc", pid)
			return err == nil && st.Stopped()
		})
	}
	cmd.Process.Kill()
	cmd.Wait()
	if !isThere(keeper) || !isThere(spare) {
		t.Error("there is nobody to continue")
	}
	if _, err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for pid, id := range ids {
		until(t, "the end of a helper", func() bool {
			now, err := h.Lookup(pid)
			return err != nil || now.Same(id) == sys.No || isZombie(pid)
		})
	}
}

// isZombie tells whether a process is a zombie, which its reaper collects.
func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err != nil || len(b) == 0
}
