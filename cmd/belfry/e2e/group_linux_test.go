package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// with is the same server in the hands of another test.
func (s *server) with(t testing.TB) *server {
	c := *s
	c.t = t
	return &c
}

// house starts the server in a control group of its own, where one can be
// made: what the server makes lies below it, and when the test ends nothing of
// that may be left.
func (s *server) house(cmd *exec.Cmd) {
	dir := s.group()
	if dir == "" || os.Mkdir(dir, 0o755) != nil {
		return // not ours to make
	}
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	s.must(err)
	s.t.Cleanup(func() {
		syscall.Close(fd)
		s.houseGone()
	})
	attr := &syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = cmd.SysProcAttr
	}
	attr.UseCgroupFD, attr.CgroupFD = true, fd
	cmd.SysProcAttr = attr
}

// group is the control group that house makes; "" where none can be.
func (s *server) group() string {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	mount := cgroupMount()
	_, group, found := bytes.Cut(append([]byte("\n"), own...), []byte("\n0::"))
	if mount == "" || !found {
		return ""
	}
	group, _, _ = bytes.Cut(group, []byte("\n"))
	return filepath.Join(mount, string(group), s.token)
}

// cgroupMount is where the whole cgroup v2 hierarchy is mounted, if anywhere.
func cgroupMount() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(mounts) {
		before, after, _ := bytes.Cut(line, []byte(" - "))
		if f := bytes.Fields(before); bytes.HasPrefix(after, []byte("cgroup2 ")) && len(f) > 4 && string(f[3]) == "/" {
			return string(f[4])
		}
	}
	return ""
}

// houseGone wants the server's group empty: no directory of the server's is
// left. A killed server's are removed by its guardian, which nobody waits for.
func (s *server) houseGone() {
	s.t.Helper()
	for end := time.Now().Add(guard); ; <-time.After(2 * time.Millisecond) {
		err := os.Remove(s.group())
		if err == nil || os.IsNotExist(err) {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("the server has left control groups: %v", s.groupsBelow())
			return
		}
	}
}

func (s *server) groupsBelow() (list []string) {
	group := s.group()
	_ = filepath.WalkDir(group, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != group {
			list = append(list, strings.TrimPrefix(path, group))
		}
		return nil // Best effort: it may be going away.
	})
	return list
}
