// init is the first process of a virtual machine that runs tests on another
// kernel: it mounts what tests look at, gives each command's user a control
// group of its own as a system's manager of sessions does, runs the commands
// one after another, and turns the machine off.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/belfry-dev/belfry/.ci/vm/plan"
)

const groups = "/sys/fs/cgroup"

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "init: is the first process of a virtual machine and nothing else")
		os.Exit(2)
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stdout, "init:", err)
	}
	unix.Sync()
	// Best effort: a machine that stays is ended from outside.
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func work() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := mount(); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return err
	}
	text, err := os.ReadFile(plan.File)
	if err != nil {
		return err
	}
	var runs []plan.Run
	if err := json.Unmarshal(text, &runs); err != nil {
		return fmt.Errorf("%s: %w", plan.File, err)
	}
	for i, r := range runs {
		fmt.Fprint(os.Stdout, plan.Begin(i))
		code, err := run(i, r)
		if err != nil {
			fmt.Fprintln(os.Stdout, "init:", err)
			code = 127
		}
		fmt.Fprint(os.Stdout, "\n"+plan.End(i, code))
	}
	return nil
}

func mount() error {
	for _, m := range []struct {
		kind, at, data string
		mode           os.FileMode
	}{
		{"proc", "/proc", "", 0o555},
		{"sysfs", "/sys", "", 0o555},
		{"devtmpfs", "/dev", "", 0o755},
		{"devpts", "/dev/pts", "ptmxmode=0666", 0o755},
		{"tmpfs", "/tmp", "", os.ModeSticky | 0o777},
		{"tmpfs", "/run", "", 0o755},
		{"cgroup2", groups, "", 0o755},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		// A kernel may have mounted its devices itself.
		if err := unix.Mount(m.kind, m.at, m.kind, 0, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.at, err)
		}
		if m.kind == "tmpfs" {
			if err := os.Chmod(m.at, m.mode); err != nil {
				return err
			}
		}
	}
	// The shell and its commands, where this machine has them.
	if _, err := os.Stat("/bin/busybox"); err == nil {
		if out, err := exec.Command("/bin/busybox", "--install", "-s", "/bin").CombinedOutput(); err != nil {
			return fmt.Errorf("install busybox: %w\n%s", err, out)
		}
	}
	return nil
}

func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("ioctl lo", unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req))
}

// delegate makes a control group that belongs to the user, with every
// controller that tests ask for, and in it the leaf where the command is born:
// a group that holds processes cannot hand controllers on.
func delegate(index, user int) (leaf string, err error) {
	slice := filepath.Join(groups, fmt.Sprintf("run-%d.slice", index))
	own := filepath.Join(slice, "app.service")
	leaf = filepath.Join(own, "main")
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return "", err
	}
	for _, dir := range []string{groups, slice} {
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0)
		if err != nil {
			return "", err
		}
	}
	for _, dir := range []string{own, leaf} {
		for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(dir, name), user, user); err != nil {
				return "", err
			}
		}
	}
	return leaf, nil
}

// run gives the command's exit status. As the first process does, it reaps
// whoever else ends meanwhile.
func run(index int, r plan.Run) (int, error) {
	leaf, err := delegate(index, r.User)
	if err != nil {
		return 0, err
	}
	group, err := os.Open(leaf)
	if err != nil {
		return 0, err
	}
	defer group.Close()
	home, err := os.MkdirTemp("", "home-")
	if err != nil {
		return 0, err
	}
	if err := os.Chown(home, r.User, r.User); err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(r.Argv[0], r.Argv, &syscall.ProcAttr{
		Dir:   home,
		Env:   append([]string{"PATH=/bin", "HOME=" + home, "TMPDIR=/tmp"}, r.Env...),
		Files: []uintptr{null.Fd(), 1, 2},
		Sys: &syscall.SysProcAttr{
			Setsid: true, UseCgroupFD: true, CgroupFD: int(group.Fd()),
			Credential: &syscall.Credential{Uid: uint32(r.User), Gid: uint32(r.User)},
		},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", r.Argv[0], err)
	}
	for {
		var status syscall.WaitStatus
		switch ended, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("wait4", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid:
			return status.ExitStatus(), nil
		}
	}
}
