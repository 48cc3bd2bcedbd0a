package sys_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/linux"
	"github.com/belfry-dev/belfry/sys"
)

// inOne starts programs one after another, each released when it is gone, and
// gives the directories of their containers.
func inOne(t *testing.T, h sys.Host, between func(i int, r *run), programs ...[]string) []string {
	t.Helper()
	var dirs []string
	for i, argv := range programs {
		r := program(t, h, argv...)
		dirs = append(dirs, sys.ContainerOf(r.Tree))
		if between != nil {
			between(i, r)
		}
		wait(t, "empty", r.Empty())
		if p := r.Proof(); p != sys.ProofCgroupEmpty {
			t.Fatalf("proof %q", p)
		}
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// TestContainerUsedAgain: a tree that ended leaves its container to the next one,
// whose usage is its own.
func TestContainerUsedAgain(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	const busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	var used []sys.Usage
	dirs := inOne(t, h, func(_ int, r *run) {
		wait(t, "empty", r.Empty())
		used = append(used, r.Usage())
	}, []string{"/bin/sh", "-c", busy}, []string{"/bin/true"}, []string{"/bin/true"})
	if dirs[0] != dirs[1] || dirs[1] != dirs[2] {
		t.Errorf("containers %q", dirs)
	}
	if used[1].CPU > used[0].CPU/2 || used[2].CPU > used[0].CPU/2 {
		t.Errorf("the time of one tree counts for the next: %v", used)
	}
}

// TestContainerNotUsedAgain: what a tree has changed, or was killed in, is
// nobody's container after it.
func TestContainerNotUsedAgain(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	for name, c := range map[string]struct {
		script  string // sees its container's directory as $1
		between func(t *testing.T, r *run)
	}{
		"a group was made in it": {script: "mkdir $1/below"},
		"it was killed": {script: "sleep 60", between: func(t *testing.T, r *run) {
			if _, err := r.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		"it was frozen after its tree": {script: "exit 0", between: func(t *testing.T, r *run) {
			wait(t, "empty", r.Empty())
			if err := os.WriteFile(sys.ContainerOf(r.Tree)+"/cgroup.freeze", []byte("1"), 0); err != nil {
				t.Fatal(err)
			}
		}},
		"somebody moved into it": {script: "exit 0", between: func(t *testing.T, r *run) {
			wait(t, "empty", r.Empty())
			other := start(t, newHost(t, sys.ProcessGroup), nil, "ignore-term")
			other.line(t)
			if err := os.WriteFile(sys.ContainerOf(r.Tree)+"/cgroup.procs", []byte(strconv.Itoa(other.Leader().PID)), 0); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ready := fifo(t)
			script := "read dir < " + ready + "; set -- $dir; " + c.script
			r := program(t, h, "/bin/sh", "-c", script)
			dir := sys.ContainerOf(r.Tree)
			if err := os.WriteFile(ready, []byte(dir+"\n"), 0); err != nil {
				t.Fatal(err)
			}
			if c.between != nil {
				c.between(t, r)
			}
			wait(t, "empty", r.Empty())
			if err := r.Release(); err != nil {
				t.Fatal(err)
			}
			next := program(t, h, "/bin/sh", "-c", "read x")
			if got := sys.ContainerOf(next.Tree); got == dir {
				t.Errorf("%s is used again", got)
			}
		})
	}
}

// TestContainerRemovedMeanwhile: a container that somebody else removed while
// nobody was in it costs no job.
func TestContainerRemovedMeanwhile(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	dirs := inOne(t, h, nil, []string{"/bin/true"})
	if err := os.Remove(dirs[0]); err != nil {
		t.Fatal(err)
	}
	if again := inOne(t, h, nil, []string{"/bin/true"}); again[0] == dirs[0] {
		t.Error("a removed directory is used again")
	}
}

// TestOldTreeReachesNobody: a tree that was released touches nothing of the one
// that is in its container now.
func TestOldTreeReachesNobody(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	old := program(t, h, "/bin/true")
	dir := sys.ContainerOf(old.Tree)
	wait(t, "empty", old.Empty())
	if err := old.Release(); err != nil {
		t.Fatal(err)
	}
	next := start(t, h, nil, "ignore-term")
	if got := sys.ContainerOf(next.Tree); got != dir {
		t.Fatalf("%s and then %s", dir, got)
	}
	next.line(t)
	before := old.Usage()
	if d, _ := old.Signal(sys.SIGKILL); d.Sent != 0 {
		t.Errorf("a signal reached %+v", d)
	}
	if list, _ := old.Members(); len(list) != 0 {
		t.Errorf("members %v", list)
	}
	if _, err := old.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if u := old.Usage(); u != before {
		t.Errorf("usage %+v and then %+v", before, u)
	}
	if list, _ := next.Members(); len(list) == 0 || next.Exit() != (sys.Exit{}) {
		t.Errorf("the next tree has members %v, exit %+v", list, next.Exit())
	}
}

// TestFewContainersAreKept: many trees at once end, and only some of their
// containers stay; none does when the host closes.
func TestFewContainersAreKept(t *testing.T) {
	h, err := sys.NewHost(sys.HostOptions{Parent: parentOfTests(), Mechanism: sys.CgroupV2})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	needs(t, h, sys.CgroupV2)
	const many = 3 * sys.KeptLeaves
	name := fifo(t)
	gate, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	var all []*run
	for range many {
		all = append(all, program(t, h, "/bin/sh", "-c", "read x < "+name))
	}
	if _, err := gate.WriteString(strings.Repeat("\n", many)); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		wait(t, "empty", r.Empty())
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
	}
	top := sys.ContainersOf(h)
	left, err := filepath.Glob(top + "/*/cgroup.procs")
	if err != nil || len(left) == 0 || len(left) > sys.KeptLeaves {
		t.Errorf("%d containers stay, %v", len(left), err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(top); os.IsNotExist(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", top)
		}
	}
}

// TestProgramChangedBetweenStarts: what is remembered of a program ends with the
// file that it was seen in.
func TestProgramChangedBetweenStarts(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	path := filepath.Join(t.TempDir(), "program")
	if err := os.Symlink("/bin/sh", path); err != nil {
		t.Fatal(err)
	}
	spec := func(w *os.File) sys.Spec {
		sp := specOf(t, w, nil, "exit", "0")
		sp.Path, sp.Argv = path, []string{path, "-c", "echo same"}
		return sp
	}
	for range 2 {
		if got := startSpec(t, h, spec).line(t); got != "same" {
			t.Fatal(got)
		}
	}
	if now, ok := linux.LookCached(path); ok && time.Since(time.Unix(0, now.Change)) > time.Minute && !sys.Remembers(h, path) {
		t.Error("the program is not remembered")
	}
	other := write(t, 0o755, []byte("#!/no/such/interpreter\n"))
	if err := os.Symlink(other, path+".next"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err = h.Start(t.Context(), spec(w)); err == nil || !strings.Contains(err.Error(), "/no/such/interpreter") {
		t.Errorf("error %v", err)
	}
}
