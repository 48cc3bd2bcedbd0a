package sys_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// crowded gives a host on which as many trees run as it keeps containers for: the
// next tree's is removed with it.
func crowded(t *testing.T) sys.Host {
	t.Helper()
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	for range sys.KeptLeaves {
		program(t, h, "/bin/sleep", "600")
	}
	return h
}

// waiting waits for the container that a host has made for its next tree.
func waiting(t *testing.T, h sys.Host) string {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		if all := sys.WaitingContainers(h); len(all) == 1 {
			return all[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting: %q", sys.WaitingContainers(h))
		}
	}
}

// TestNextContainer: while a tree runs the container of the next one is made, and
// that one is removed with its tree.
func TestNextContainer(t *testing.T) {
	h := crowded(t)
	for range 3 {
		next := waiting(t, h)
		r := program(t, h, "/bin/sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exit 3")
		if dir := sys.ContainerOf(r.Tree); dir != next {
			t.Errorf("the tree is in %s, %s was made for it", dir, next)
		}
		wait(t, "empty", r.Empty())
		if _, err := os.Stat(next); !os.IsNotExist(err) {
			t.Errorf("%s is there still: %v", next, err)
		}
		if p, e := r.Proof(), r.Exit(); p != sys.ProofCgroupEmpty || e.Code != 3 {
			t.Errorf("proof %q, exit %+v", p, e)
		}
		if u := r.Usage(); u.CPU <= 0 {
			t.Errorf("usage %+v", u)
		}
		if list, _ := r.Members(); len(list) != 0 {
			t.Errorf("members %v", list)
		}
		if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofCgroupEmpty {
			t.Errorf("a kill after the end: %+v %v", rep, err)
		}
	}
}

// TestNextContainerTouched: one that is not as if new any more holds no tree.
func TestNextContainerTouched(t *testing.T) {
	for what, touch := range map[string]func(t *testing.T, dir string){
		"frozen": func(t *testing.T, dir string) {
			if err := os.WriteFile(dir+"/cgroup.freeze", []byte("1"), 0); err != nil {
				t.Fatal(err)
			}
		},
		"removed": func(t *testing.T, dir string) {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
		},
		"peopled": func(t *testing.T, dir string) {
			other := start(t, newHost(t, sys.ProcessGroup), nil, "ignore-term")
			other.line(t)
			if err := os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(other.Leader().PID)), 0); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			h := crowded(t)
			next := waiting(t, h)
			touch(t, next)
			r := program(t, h, "/bin/true")
			if dir := sys.ContainerOf(r.Tree); dir == next {
				t.Errorf("%s holds a tree", dir)
			}
			wait(t, "empty", r.Empty())
		})
	}
}

// TestContainerOutlivesLeader: no proof is given as long as a member lives, also
// where no descriptor is left to watch it with.
func TestContainerOutlivesLeader(t *testing.T) {
	for _, free := range []int{100, 0} {
		t.Run(fmt.Sprint(free, " descriptors"), func(t *testing.T) {
			h := crowded(t)
			leave := fewFiles(t)
			var names []string
			var gates []*os.File
			for range 2 {
				names = append(names, fifo(t))
				gate, err := os.OpenFile(names[len(names)-1], os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer gate.Close()
				gates = append(gates, gate)
			}
			end := func(i int) {
				t.Helper()
				if _, err := gates[i].WriteString("\n"); err != nil {
					t.Fatal(err)
				}
			}
			r := program(t, h, "/bin/sh", "-c", "read x < "+names[0]+" & read x < "+names[1])
			dir := sys.ContainerOf(r.Tree)
			waiting(t, h)
			giveBack := leave(free)
			end(1)
			wait(t, "exited", r.Exited())
			select {
			case <-r.Empty():
				t.Error("proved empty while a member lives")
			case <-time.After(50 * time.Millisecond):
			}
			end(0)
			giveBack()
			wait(t, "empty", r.Empty())
			if p := r.Proof(); p != sys.ProofCgroupEmpty {
				t.Errorf("proof %q", p)
			}
			if err := r.Release(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is there still: %v", dir, err)
			}
		})
	}
}

// TestKilledContainer: a kill is proved where the container is not kept, with a
// group below it too.
func TestKilledContainer(t *testing.T) {
	h := crowded(t)
	r := start(t, h, nil, "ignore-term")
	r.line(t)
	dir := sys.ContainerOf(r.Tree)
	if err := os.Mkdir(dir+"/below", 0o755); err != nil {
		t.Fatal(err)
	}
	if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofCgroupEmpty {
		t.Errorf("%+v %v", rep, err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is there still: %v", dir, err)
	}
}

// TestContainersTogether: many short trees at once leave nothing but what is kept.
func TestContainersTogether(t *testing.T) {
	h := crowded(t)
	done := make(chan string)
	const hands = 4
	for range hands {
		go func() {
			for range rounds(t, 100) {
				r, err := h.Start(ctxForever, specOfTrue(t))
				if err != nil {
					t.Error(err)
					break
				}
				<-r.Empty()
				if p := r.Proof(); p != sys.ProofCgroupEmpty {
					t.Errorf("proof %q", p)
				}
				if err := r.Release(); err != nil {
					t.Error(err)
				}
			}
			done <- ""
		}()
	}
	for range hands {
		<-done
	}
	waiting(t, h)
	all, err := filepath.Glob(sys.ContainersOf(h) + "/*/cgroup.procs")
	if err != nil || len(all) != sys.KeptLeaves+1 {
		t.Errorf("%d containers, %v", len(all), err)
	}
	for _, dir := range sys.WaitingContainers(h) {
		if !slices.Contains(all, dir+"/cgroup.procs") {
			t.Errorf("%s waits and is not there", dir)
		}
	}
}

func specOfTrue(t *testing.T) sys.Spec {
	null, err := nullFile(t)
	if err != nil {
		t.Error(err)
	}
	return sys.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdio: [3]*os.File{null, null, null}}
}
