package systest

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/belfry-dev/belfry/sys"
)

// madeParent is the control group that this test binary made, if any.
var madeParent struct {
	sync.Mutex
	tried bool
	path  string
}

// Options are host options under which the leak check sees the host's control
// groups. Where none can be made they are the zero value.
func Options() sys.HostOptions { return sys.HostOptions{Parent: Parent()} }

// Parent is a control group directory of this test binary's own, "" where none
// can be made.
func Parent() string {
	madeParent.Lock()
	defer madeParent.Unlock()
	if madeParent.tried {
		return madeParent.path
	}
	madeParent.tried = true
	own := ownGroup()
	if own == "" {
		return ""
	}
	path := own + "/systest-" + strconv.Itoa(os.Getpid())
	if os.Mkdir(path, 0o755) == nil {
		madeParent.path = path
	}
	return madeParent.path
}

func parentIfMade() string {
	madeParent.Lock()
	defer madeParent.Unlock()
	return madeParent.path
}

// ownGroup is this process's cgroup v2 directory below the first mount that
// shows the whole hierarchy, "" when there is none.
func ownGroup() string {
	group, _ := os.ReadFile("/proc/self/cgroup")
	mount := mountOfGroups()
	for g := range strings.Lines(string(group)) {
		if rest, ok := strings.CutPrefix(g, "0::"); ok && mount != "" {
			return strings.TrimRight(mount+strings.TrimSpace(rest), "/")
		}
	}
	return ""
}

// mountOfGroups is that mount, "" when there is none.
var mountOfGroups = sync.OnceValue(func() string {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); len(f) >= 6 && strings.HasPrefix(after, "cgroup2 ") && f[3] == "/" {
			return f[4]
		}
	}
	return ""
})
