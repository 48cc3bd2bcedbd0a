package sys_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("divides-its-own", dividesItsOwn) }

// someController is one that the groups of the tests can give to those below,
// whichever there is; the test skips where there is none. Call it before
// groupFor: what was given is taken back when the group is gone.
func someController(t *testing.T) string {
	t.Helper()
	if parentOfTests() == "" {
		t.Skip("no control group can be made here")
	}
	for _, dir := range []string{filepath.Dir(parentOfTests()), parentOfTests()} {
		b, err := os.ReadFile(dir + "/cgroup.controllers")
		f := strings.Fields(string(b))
		if err != nil || len(f) == 0 {
			t.Skipf("%s has no controller to give: %v", dir, err)
		}
		was, _ := os.ReadFile(dir + "/cgroup.subtree_control")
		if !slices.Contains(strings.Fields(string(was)), f[0]) {
			if err := os.WriteFile(dir+"/cgroup.subtree_control", []byte("+"+f[0]), 0); err != nil {
				t.Skipf("no controller can be given to the tests: %v", err)
			}
			t.Cleanup(func() { _ = os.WriteFile(dir+"/cgroup.subtree_control", []byte("-"+f[0]), 0) })
		}
		if dir == parentOfTests() {
			return f[0]
		}
	}
	return ""
}

func ownGroup() string {
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// dividesItsOwn is a supervisor that divides the group in which it is: GROUP
// RECORDS CONTROLLER. It tells what came of it at each line of its input, and at
// its end closes the host.
func dividesItsOwn(args []string) int {
	sys.WithControllers(args[2])
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	h, err := sys.NewHost(sys.HostOptions{Records: args[1]})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	parent, own := args[0], true
	if above := filepath.Dir(parent); filepath.Base(parent) == "home" && sys.IsOurs(above, parent) {
		parent, own = above, false
	}
	dir, why := sys.Divide(h, parent, own)
	fmt.Printf("divided %q %q %s\n", dir, why, ownGroup())
	in.Scan()
	fmt.Printf("closed %v %s\n", h.Close(), ownGroup())
	in.Scan()
	return 0
}

// divider runs dividesItsOwn in a group of its own.
type divider struct {
	cmd   *exec.Cmd
	in    *os.File
	lines *bufio.Scanner
}

func newDivider(t *testing.T, group, records, controller string) *divider {
	t.Helper()
	path, argv, env := systest.Command("divides-its-own", group, records, controller)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := &divider{cmd: &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: r, Stderr: os.Stderr}, in: w}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewScanner(out)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { d.cmd.Process.Kill(); d.cmd.Wait(); w.Close() })
	if err := os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, d.cmd.Process.Pid), 0); err != nil {
		t.Skipf("no process can be moved here: %v", err)
	}
	return d
}

func (d *divider) next(t *testing.T) string {
	t.Helper()
	fmt.Fprintln(d.in)
	if !d.lines.Scan() {
		t.Fatalf("the supervisor ended: %v", d.lines.Err())
	}
	return d.lines.Text()
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestDivideMovesAside: a supervisor alone in its group moves into a leaf, gives
// the controllers, and at the close leaves everything as it was.
func TestDivideMovesAside(t *testing.T) {
	controller := someController(t)
	group := groupFor(t)
	d := newDivider(t, group, filepath.Join(t.TempDir(), "records"), controller)
	var dir, why, own string
	line := d.next(t)
	if _, err := fmt.Sscanf(line, "divided %q %q %s", &dir, &why, &own); err != nil || why != "" {
		t.Fatalf("%q: %v", line, err)
	}
	if filepath.Dir(dir) != group || filepath.Base(filepath.Dir(own)) != filepath.Base(group) || filepath.Base(own) == filepath.Base(dir) {
		t.Errorf("containers in %s, the supervisor in %s", dir, own)
	}
	if got := read(t, dir+"/cgroup.controllers"); got != controller {
		t.Errorf("controllers %q, want %s", got, controller)
	}
	if got := read(t, dir+"/cgroup.subtree_control"); got != controller {
		t.Errorf("given on: %q, want %s", got, controller)
	}
	line = d.next(t)
	if want := "closed <nil> " + filepath.Dir(own); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	if got := read(t, group+"/cgroup.subtree_control"); got != "" {
		t.Errorf("still given: %q", got)
	}
	if left, _ := filepath.Glob(group + "/belfry-*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	fmt.Fprintln(d.in)
	if err := d.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestDivideNotBesideOthers: with a process of somebody else's in the group
// nothing is moved, and the refusal names it.
func TestDivideNotBesideOthers(t *testing.T) {
	controller := someController(t)
	group := groupFor(t)
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	other := &exec.Cmd{Path: path, Args: []string{"sleep", "300"}}
	d := besideDivider(t, group, controller, other)
	line := d.next(t)
	if strings.Contains(line, "belfry itself") {
		t.Errorf("%q", line)
	}
	if !strings.Contains(line, string(sys.LimitNotDelegated)) || !strings.Contains(line, fmt.Sprint(other.Process.Pid, " (")) {
		t.Errorf("%q does not name %d", line, other.Process.Pid)
	}
	if !strings.HasSuffix(line, filepath.Base(group)) {
		t.Errorf("it moved: %q", line)
	}
	d.next(t)
	fmt.Fprintln(d.in)
	d.cmd.Wait()
}

// TestDivideNotBesideKin: a stranger that is this program itself is told as that:
// the server is one for the supervisor of a job that is to outlive it.
func TestDivideNotBesideKin(t *testing.T) {
	controller := someController(t)
	group := groupFor(t)
	path, argv, env := systest.Command("sleep")
	d := besideDivider(t, group, controller, &exec.Cmd{Path: path, Args: argv, Env: env})
	if line := d.next(t); !strings.Contains(line, string(sys.LimitNotDelegated)) || !strings.Contains(line, "belfry itself: run the job without detach") {
		t.Errorf("%q", line)
	}
	d.next(t)
	fmt.Fprintln(d.in)
	d.cmd.Wait()
}

// besideDivider starts a divider in a group that holds another process.
func besideDivider(t *testing.T, group, controller string, other *exec.Cmd) *divider {
	t.Helper()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	if err := os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, other.Process.Pid), 0); err != nil {
		t.Skip(err)
	}
	return newDivider(t, group, filepath.Join(t.TempDir(), "records"), controller)
}

// TestDivideAboveTwice: two of this program in one group, whose group above was
// left to it, make their containers beside each other there, and the end of one
// leaves those of the other: a server and the supervisor of a detached job.
func TestDivideAboveTwice(t *testing.T) {
	controller := someController(t)
	top := groupFor(t)
	if err := os.WriteFile(top+"/cgroup.subtree_control", []byte("+"+controller), 0); err != nil {
		t.Skip(err)
	}
	above := filepath.Join(top, "above")
	home := filepath.Join(above, "home")
	for _, dir := range []string{above, home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("something was left: %v", err)
			}
		})
	}
	records := filepath.Join(t.TempDir(), "records")
	var dirs []string
	var both []*divider
	for range 2 {
		d := newDivider(t, home, records, controller)
		var dir, why, own string
		line := d.next(t)
		if _, err := fmt.Sscanf(line, "divided %q %q %s", &dir, &why, &own); err != nil || why != "" {
			t.Fatalf("%q: %v", line, err)
		}
		if filepath.Dir(dir) != above || filepath.Base(own) != "home" {
			t.Errorf("containers in %s, the supervisor in %s", dir, own)
		}
		dirs, both = append(dirs, dir), append(both, d)
	}
	if line := both[0].next(t); !strings.HasPrefix(line, "closed <nil>") {
		t.Error(line)
	}
	if _, err := os.Stat(dirs[0]); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
	if got := read(t, dirs[1]+"/cgroup.controllers"); got != controller {
		t.Errorf("the other has %q", got)
	}
	if line := both[1].next(t); !strings.HasPrefix(line, "closed <nil>") {
		t.Error(line)
	}
	for _, d := range both {
		fmt.Fprintln(d.in)
		d.cmd.Wait()
	}
}

// TestSweepOfALeaf: what a supervisor that moved aside leaves when it is killed
// with its guardian is removed, its leaf too.
func TestSweepOfALeaf(t *testing.T) {
	controller := someController(t)
	group := groupFor(t)
	records := filepath.Join(t.TempDir(), "records")
	d := newDivider(t, group, records, controller)
	if line := d.next(t); !strings.Contains(line, ` "" `) {
		t.Fatal(line)
	}
	d.cmd.Process.Kill()
	d.cmd.Wait()
	until(t, "everything is swept", func() bool { sweepAll(t, records); return len(files(t, records)) == 0 })
	if left, _ := filepath.Glob(group + "/belfry-*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
