package sys_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("scope-maker", scopeMaker) }

// scopeMaker stands for systemd-run: it makes the group that --unit names below
// GROUP, moves into it and becomes what stands behind --.
func scopeMaker(args []string) int {
	if args[0] == "fail" {
		fmt.Fprintln(os.Stderr, "Failed to connect to bus: No such file or directory")
		return 1
	}
	for i, a := range args {
		if unit, ok := strings.CutPrefix(a, "--unit="); ok {
			dir := filepath.Join(args[0], unit)
			if err := os.Mkdir(dir, 0o755); err != nil {
				return 1
			}
			if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, os.Getpid()), 0); err != nil {
				return 1
			}
		}
		if a == "--" {
			_ = syscall.Exec(args[i+1], args[i+1:], os.Environ())
		}
	}
	return 1
}

// TestScope: the anchor moves beside the containers, and the scope goes with
// the host. Systemd itself is not asked.
func TestScope(t *testing.T) {
	controller := someController(t)
	group := groupFor(t)
	defer sys.WithControllers(controller)()
	if err := os.WriteFile(group+"/cgroup.subtree_control", []byte("+"+controller), 0); err != nil {
		t.Skip(err)
	}
	h := sweeping(t, filepath.Join(t.TempDir(), "records"))
	path, argv, _ := systest.Command("scope-maker", group)
	if argv[0] != path {
		argv = append([]string{path}, argv[1:]...)
	}
	sys.RunScopesBy(h, argv...)
	dir, why := sys.OpenScope(h, t.Context())
	if why != "" {
		t.Fatal(why)
	}
	if filepath.Dir(dir) != group || !strings.HasSuffix(dir, ".scope") {
		t.Errorf("the scope is %s", dir)
	}
	if got := read(t, dir+"/cgroup.procs"); got != "" {
		t.Errorf("the scope itself holds %q", got)
	}
	if got := read(t, dir+"/cgroup.subtree_control"); got != controller {
		t.Errorf("given: %q", got)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	// Systemd removes the scope; what is below it we do.
	if err := os.Remove(dir); err != nil {
		t.Error(err)
	}
}

// TestScopeRefused: what systemd-run says is in the record.
func TestScopeRefused(t *testing.T) {
	h := sweeping(t, "")
	path, argv, _ := systest.Command("scope-maker", "fail")
	sys.RunScopesBy(h, append([]string{path}, argv[1:]...)...)
	if _, why := sys.OpenScope(h, t.Context()); !strings.Contains(why, "Failed to connect to bus") {
		t.Errorf("%q", why)
	}
}
