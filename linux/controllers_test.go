package linux

import (
	"slices"
	"testing"
)

func TestController1(t *testing.T) {
	const hybrid = "9:name=systemd:/\n8:pids:/a:b\n2:cpu,cpuacct:/\n0::/x\n"
	for name, want := range map[string]bool{"pids": true, "cpu": true, "cpuacct": true, "memory": false, "": false, "name=systemd": true} {
		if got := Controller1([]byte(hybrid), name); got != want {
			t.Errorf("%q on v1: %v", name, got)
		}
	}
	if Controller1([]byte("0::/memory\n"), "memory") {
		t.Error("v2 alone")
	}
}

func TestUnitOf(t *testing.T) {
	for dir, want := range map[string]string{
		"/": "", "/sys/fs/cgroup": "", "/sys/fs/cgroup/docker/x": "",
		"/sys/fs/cgroup/user.slice":                       "/sys/fs/cgroup/user.slice",
		"/sys/fs/cgroup/system.slice/a.service/sub/leaf":  "/sys/fs/cgroup/system.slice/a.service",
		"/sys/fs/cgroup/user.slice/session-1.scope":       "/sys/fs/cgroup/user.slice/session-1.scope",
		"/c/user@1000.service/app.slice/app-x.scope/init": "/c/user@1000.service/app.slice/app-x.scope",
	} {
		if got := UnitOf(dir); got != want {
			t.Errorf("%s is in %q, want %q", dir, got, want)
		}
	}
}

func TestParseCPUMax(t *testing.T) {
	for _, c := range []struct {
		text string
		cpus float64
		ok   bool
	}{
		{"50000 100000\n", 0.5, true}, {"max 100000\n", 0, true}, {"1000 1000000", 0.001, true},
		{"", 0, false}, {"max", 0, false}, {"1 0", 0, false}, {"x 100000", 0, false}, {"1 2 3", 0, false}, {"-1 100000", 0, false},
	} {
		if got, ok := ParseCPUMax(c.text); got != c.cpus || ok != c.ok {
			t.Errorf("%q: %v %v", c.text, got, ok)
		}
	}
}

func FuzzParseCPUMax(f *testing.F) {
	f.Add("max 100000")
	f.Add("50000 100000")
	f.Fuzz(func(t *testing.T, text string) {
		if cpus, ok := ParseCPUMax(text); ok && cpus < 0 {
			t.Errorf("%q: %v", text, cpus)
		}
	})
}

func TestParseAllPIDs(t *testing.T) {
	pids, hidden := parseAllPIDs([]byte("7\n0\n8\n0\n"))
	if !slices.Equal(pids, []int{7, 8}) || hidden != 2 {
		t.Errorf("%v and %d hidden", pids, hidden)
	}
}
