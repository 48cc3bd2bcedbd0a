package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("forest", forest) }

// forest is a leader with so many children, who sleep.
func forest(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	for range n {
		fd := null.Fd()
		if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}}); err != nil {
			return 1
		}
	}
	fmt.Fprintln(os.Stdout, "ready")
	time.Sleep(time.Minute)
	return 0
}

// killGates are how many times a bare cgroup.kill the end of a tree of 200 may
// take on each rung, its proof included.
var killGates = map[sys.Mechanism]float64{sys.CgroupV2: 1.3, sys.Subreaper: 2}

const forestSize = 200

// TestKillGate compares the end of a tree with a bare cgroup.kill of the same,
// waited for by what the kernel offers for that.
func TestKillGate(t *testing.T) {
	systest.Spare("forest")
	gated(t)
	parent := systest.Parent()
	if parent == "" {
		t.Skip("no control group can be made here")
	}
	const rounds = 12
	sides := []sys.Mechanism{"", sys.CgroupV2, sys.Subreaper}
	hosts := map[sys.Mechanism]sys.Host{}
	for _, m := range sides[1:] {
		o := systest.Options()
		o.Mechanism = m
		h, err := sys.NewHost(o)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		hosts[m] = h
	}
	for left := attempts; ; left-- {
		took := killTimes(t, parent, sides, hosts, rounds)
		t.Logf("bare cgroup.kill: best %v", took[""])
		out := ""
		for m, gate := range killGates {
			ratio := float64(took[m]) / float64(took[""])
			t.Logf("%s: best %v, %.2f times that", m, took[m], ratio)
			if ratio > gate {
				out = fmt.Sprintf("the end of a tree of %d on %s takes %.2f times a bare cgroup.kill, more than %.1f", forestSize, m, ratio, gate)
			}
		}
		if out == "" {
			return
		}
		if left == 1 {
			t.Fatal(out, " in each attempt")
		}
	}
}

// killTimes gives the shortest time of each side.
func killTimes(t *testing.T, parent string, sides []sys.Mechanism, hosts map[sys.Mechanism]sys.Host, rounds int) map[sys.Mechanism]time.Duration {
	t.Helper()
	took := map[sys.Mechanism]time.Duration{}
	for range rounds {
		for _, m := range sides {
			d := bareKill
			if m != "" {
				d = func(t *testing.T, _ string) time.Duration { return treeKill(t, hosts[m]) }
			}
			if one := d(t, parent); took[m] == 0 || one < took[m] {
				took[m] = one
			}
		}
	}
	return took
}

// bareKill ends a forest in a control group by cgroup.kill and waits until it
// tells that nobody is left.
func bareKill(t *testing.T, parent string) time.Duration {
	t.Helper()
	dir := parent + "/bare"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	events, err := os.Open(dir + "/cgroup.events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	path, argv, env := systest.Command("forest", strconv.Itoa(forestSize))
	c := &exec.Cmd{Path: path, Args: argv, Env: env, SysProcAttr: &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(d.Fd())}}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := os.WriteFile(dir+"/cgroup.kill", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	var b [256]byte
	for {
		n, err := events.ReadAt(b[:], 0)
		if n == 0 {
			t.Fatal(err)
		}
		if bytes.Contains(b[:n], []byte("populated 0")) {
			break
		}
	}
	took := time.Since(begin)
	_ = c.Wait() // killed
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	return took
}

// treeKill ends a forest that is a job's tree.
func treeKill(t *testing.T, h sys.Host) time.Duration {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path, argv, env := systest.Command("forest", strconv.Itoa(forestSize))
	tree, err := h.Start(context.Background(), sys.Spec{Path: path, Argv: argv, Env: env, Dir: "/", Stdio: [3]*os.File{null, w, null}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	rep, err := tree.Kill(t.Context())
	took := time.Since(begin)
	if err != nil || rep.Proof == sys.ProofNone {
		t.Fatalf("%+v %v", rep, err)
	}
	if err := tree.Release(); err != nil {
		t.Fatal(err)
	}
	return took
}
