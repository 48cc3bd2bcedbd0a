package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// process is a live process: no zombie.
type process struct {
	pid, ppid, pgrp int
	command         string
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.command) }

// processes are all that live now and that a test says yes to.
func processes(yes func(pid int) bool) []process {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err)
	}
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || !yes(pid) {
			continue
		}
		if p, alive := look(pid); alive {
			list = append(list, p)
		}
	}
	return list
}

// look reads a process; false means that it is gone or a zombie.
func look(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	f := strings.Fields(string(stat[shut+1:]))
	if f[0] == "Z" || f[0] == "X" {
		return process{}, false
	}
	p := process{pid: pid, command: string(stat[open+1 : shut])}
	p.ppid, _ = strconv.Atoi(f[1])
	p.pgrp, _ = strconv.Atoi(f[2])
	return p, true
}

// hasVar tells whether an environment, as /proc shows it, has a variable whose
// value begins so.
func hasVar(env []byte, name, value string) bool {
	entry := []byte(name + "=" + value)
	return bytes.HasPrefix(env, entry) || bytes.Contains(env, append([]byte{0}, entry...))
}

// jobs are the live processes of the server's jobs.
func (s *server) jobs() []process {
	return processes(func(pid int) bool { return environ(pid, tokenVar, s.token+"\x00") })
}

// environ tells whether a process has a variable whose value begins so.
func environ(pid int, name, value string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && hasVar(env, name, value)
}

// own are the live processes that run the server's own program: it and its
// helpers.
func (s *server) own() []process {
	return processes(func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && exe == s.exe
	})
}

// wantNone wants no process of the server's jobs at this moment.
func (s *server) wantNone(when string) {
	s.t.Helper()
	if left := s.jobs(); len(left) > 0 {
		s.t.Errorf("%s, %d processes of the jobs are alive: %v", when, len(left), left)
	}
}

// waitNone waits until there is no such process. What is left after the guard
// is an error and ended.
func waitNone(t testing.TB, what string, find func() []process) {
	t.Helper()
	end := time.Now().Add(guard)
	for {
		left := find()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%v: %s: %d are alive: %v", guard, what, len(left), left)
			sweep(find)
			return
		}
		awaitExit(left[0].pid, time.Until(end))
	}
}

// sweep ends what a failed test left, or what nobody promised to end.
func sweep(find func() []process) {
	for end := time.Now().Add(guard); time.Now().Before(end); {
		left := find()
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			end9(p.pid, func() bool { return alive(p.pid) })
		}
		awaitExit(left[0].pid, time.Second)
	}
}

// end9 sends SIGKILL to a process that it holds by handle, if it still is the
// one meant.
func end9(pid int, still func() bool) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer p.Release()
	if still() {
		_ = p.Kill() // Best effort: it may be gone.
	}
}

func alive(pid int) bool {
	_, ok := look(pid)
	return ok
}

// awaitExit waits for the end of a process that need not be a child.
func awaitExit(pid int, most time.Duration) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer p.Release()
	err = p.WithHandle(func(handle uintptr) {
		fd := struct {
			fd              int32
			events, revents int16
		}{fd: int32(handle), events: 1} // POLLIN
		left := syscall.NsecToTimespec(int64(most))
		syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&left)), 0, 0, 0)
	})
	if err != nil {
		// Without pidfds, before Linux 5.4: look again in a moment.
		<-time.After(5 * time.Millisecond)
	}
}

// noTraces waits until nothing of the server is left.
func (s *server) noTraces() {
	s.t.Helper()
	waitNone(s.t, "processes of jobs after the server's end", s.jobs)
	waitNone(s.t, "processes of belfry after the server's end", s.own)
}
