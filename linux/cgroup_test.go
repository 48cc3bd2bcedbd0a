package linux

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hybridMounts = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
31 22 0:27 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755
32 31 0:28 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
50 22 0:38 /user.slice /mnt/a\040b rw shared:1 master:2 - cgroup2 none rw
`

func TestParseCgroup2Mounts(t *testing.T) {
	want := []Mount{{Root: "/", Point: "/sys/fs/cgroup/unified"}, {Root: "/user.slice", Point: "/mnt/a b"}}
	if d := cmp.Diff(want, ParseCgroup2Mounts([]byte(hybridMounts))); d != "" {
		t.Error(d)
	}
	for _, none := range []string{"", "\n", "x - cgroup2", "1 2 3 - cgroup2 none rw\n", "31 22 0:27 / /x rw - cgroup cgroup2 rw\n"} {
		if got := ParseCgroup2Mounts([]byte(none)); got != nil {
			t.Errorf("%q gave %v", none, got)
		}
	}
}

func TestCgroupDir(t *testing.T) {
	whole := []Mount{{Root: "/", Point: "/sys/fs/cgroup"}}
	part := []Mount{{Root: "/user.slice", Point: "/mnt"}}
	for _, c := range []struct {
		mounts []Mount
		group  string
		dir    string
		ok     bool
	}{
		{whole, "/", "/sys/fs/cgroup", true},
		{whole, "/a/b", "/sys/fs/cgroup/a/b", true},
		{part, "/user.slice", "/mnt", true},
		{part, "/user.slice/x", "/mnt/x", true},
		{part, "/user.slices", "", false},
		{part, "/system.slice", "", false},
		{append(part, whole...), "/system.slice", "/sys/fs/cgroup/system.slice", true},
		{nil, "/", "", false},
	} {
		dir, ok := CgroupDir(c.mounts, c.group)
		if dir != c.dir || ok != c.ok {
			t.Errorf("%v %s: %q %v", c.mounts, c.group, dir, ok)
		}
	}
}

func TestParseCgroupPath(t *testing.T) {
	for file, want := range map[string]string{
		"0::/\n": "/",
		"9:name=systemd:/x\n1:cpu:/y\n0::/user.slice/a b\n": "/user.slice/a b",
		"0::/x (deleted)\n": "/x (deleted)",
		"1:cpu:/\n":         "",
		"":                  "",
	} {
		got, ok := ParseCgroupPath([]byte(file))
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", file, got, ok)
		}
	}
}

func TestFlatValue(t *testing.T) {
	file := []byte("populated 1\nfrozen 0\nbig 18446744073709551615\nbad x\nalone\n")
	for key, want := range map[string]uint64{"populated": 1, "frozen": 0, "big": 1<<64 - 1} {
		if got, ok := FlatValue(file, key); !ok || got != want {
			t.Errorf("%s: %d %v", key, got, ok)
		}
	}
	for _, key := range []string{"bad", "alone", "pop", "populated 1", ""} {
		if _, ok := FlatValue(file, key); ok {
			t.Errorf("%q has a value", key)
		}
	}
}

func TestParsePIDs(t *testing.T) {
	if d := cmp.Diff([]int{1, 20, 300}, parsePIDs([]byte("1\n0\n20\nx\n300\n"))); d != "" {
		t.Error(d)
	}
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte(hybridMounts), "/user.slice/x")
	f.Fuzz(func(t *testing.T, b []byte, group string) {
		for _, m := range ParseCgroup2Mounts(b) {
			if m.Root == "" || m.Point == "" {
				t.Errorf("half a mount: %+v", m)
			}
			if dir, ok := CgroupDir([]Mount{m}, "/"+group); ok && strings.HasPrefix(m.Point, "/") && dir[0] != '/' {
				t.Errorf("%+v %q: %q", m, group, dir)
			}
		}
		ParseCgroupPath(b)
		FlatValue(b, group)
		parsePIDs(b)
	})
}
