package sys

import (
	"os"
	"runtime"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// The further descriptors of an init.
const (
	initOrder  = 5 // the order's file
	initStdio  = 6 // and two more: the leader's 0, 1 and 2
	initOrders = 9 // pipe on which the shim hands on wordTaken and wordKill
)

// beginStrict starts, in place of the leader, the first process of a pid
// namespace, which starts the leader and tells of it itself: here it is the one
// child, whose end is the kernel's word that nobody is left in the namespace.
func (s *shim) beginStrict(m message) bool {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		s.refuse(stepHelper, err)
		return false
	}
	pid, err := s.startInit(m, uintptr(pipe[0]))
	linux.CloseFD(pipe[0])
	if err != nil {
		s.refuse(stepHelper, err)
		return false
	}
	s.handOn = pipe[1]
	s.mu.Lock()
	s.leader, s.held, s.strict = pid, true, true
	s.mu.Unlock()
	s.release()
	return true
}

// startInit starts it in a user namespace of its own only where that is needed:
// root then keeps the rights over its files.
func (s *shim) startInit(m message, orders uintptr) (pid int, err error) {
	file := -1
	if len(m.files) > 3 {
		file = m.files[3]
	} else {
		f, err := linux.MemFile("order", m.order)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		file = int(f.Fd())
	}
	for _, user := range []bool{false, true} {
		if !user && os.Geteuid() != 0 {
			continue
		}
		attr := linux.Namespaces(user)
		attr.Setsid, attr.Pdeathsig = true, syscall.SIGKILL
		role := roleInit
		if user {
			role = roleUserInit
		}
		pid, err = syscall.ForkExec(selfExe(), []string{helperName, role}, &syscall.ProcAttr{
			Dir: "/", Env: os.Environ(), Sys: attr,
			Files: []uintptr{0, 1, 2, uintptr(s.ctl), uintptr(s.boss), uintptr(file),
				uintptr(m.files[0]), uintptr(m.files[1]), uintptr(m.files[2]), orders},
		})
		if err != syscall.EPERM {
			break
		}
	}
	return pid, err
}

// runInit is that first process: it starts the leader, reaps, and ends with the
// last process of its namespace or with the supervisor, whichever is first. It
// dies with the shim's thread, and with it, by the kernel, all others.
func runInit(keep uint64) int {
	runtime.LockOSThread()
	if err := enterHelper(); err != nil {
		return 1
	}
	s := &shim{ctl: shimControl, boss: shimBoss, taken: make(chan struct{}), inside: true}
	if err := linux.MountOwnProc(); err != nil {
		return s.refuse(stepHelper, err)
	}
	if err := linux.Confine(keep); err != nil {
		return s.refuse(stepHelper, err)
	}
	go s.reap()
	if !s.begin(message{files: []int{initStdio, initStdio + 1, initStdio + 2, initOrder}}) {
		return 1
	}
	for !linux.PidfdExited(s.boss) && !linux.HungUp(s.ctl) {
		// The socket is the shim's to read; here only its end is waited for.
		if err := linux.WaitEnd(s.ctl, s.boss, initOrders); err != nil {
			return 1
		}
		if !s.obey() {
			return 0
		}
	}
	return 0
}

// obey takes one order if there is one. False: the shim is gone.
func (s *shim) obey() bool {
	var b [1]byte
	n, err := syscall.Read(initOrders, b[:])
	switch {
	case err == syscall.EAGAIN:
		return true
	case err != nil || n == 0:
		return false
	case b[0] == wordKill:
		// Everything that this process sees but itself, in one step of the kernel,
		// which no fork escapes. It is then reaped, and its use told.
		_ = linux.Kill(-1, syscall.SIGKILL) // ESRCH: nobody is left
	}
	s.release()
	return true
}
