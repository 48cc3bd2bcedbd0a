package sys

import (
	"encoding/binary"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// The guardian's descriptors.
const (
	guardControl = 3 // pipe whose other end the supervisor alone holds
	guardStatus  = 4 // pipe on which "armed" is told; its end tells our death
	guardPidfd   = 5 // the supervisor
)

const (
	// armed is the byte that the guardian writes once it can act; its process
	// number follows in guardPID bytes, low one first.
	armed    = 'A'
	guardPID = 4
	// dismissed is the byte by which a supervisor that lives on lets the
	// guardian go. The end of the pipe without it is the supervisor's end.
	dismissed = 'D'
)

// startGuardianDetached starts the guardian and ends, so that the guardian is
// no descendant of the supervisor: a host that ends its server by walking
// parent numbers does not meet it.
func startGuardianDetached(dir, base string) int {
	_, err := syscall.ForkExec(selfExe(), []string{helperName, roleGuardian, dir, base}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(),
		Files: []uintptr{0, 1, 2, guardControl, guardStatus, guardPidfd},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 1
	}
	return 0
}

// childLife is how long a guardian stays that is the supervisor's child, in
// milliseconds; see guardianChild. forEver is for all others.
const (
	childLife = 1000
	forEver   = -1
)

// guard waits for the supervisor's end, however it comes, and then ends and
// removes everything below dir, and ends whoever left that and bears a mark of its
// host, whose base is in decimal. It waits for the end of the pipe or of the
// process, so that a copy of the pipe in a stranger's hands cannot blind it.
// After life milliseconds it leaves the rest to another guardian.
func guard(dir, base string, life int) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = linux.CloseFrom(guardPidfd + 1)
	linux.HoldProc()
	linux.HoldCgroup(dir)
	group := linux.CgroupAt(dir)
	events, err := linux.OpenForLook(dir + "/cgroup.events")
	if err != nil {
		return 1
	}
	if err := group.CanKill(); err != nil {
		return 1
	}
	// Nobody may hear it: the supervisor may have been killed already.
	_, _ = syscall.Write(guardStatus, binary.LittleEndian.AppendUint32([]byte{armed}, uint32(os.Getpid())))
	for {
		told, err := linux.WaitReadableFor(life, guardControl, guardPidfd)
		if err != nil {
			return 1
		}
		if !told {
			if startGuardianDetached(dir, base) == 0 {
				return 0
			}
			life = forEver // no process can be had, so this one stays
			continue
		}
		if linux.PidfdExited(guardPidfd) {
			break
		}
		var word [1]byte
		n, err := syscall.Read(guardControl, word[:])
		if n == 1 && word[0] == dismissed {
			return 0
		}
		if n == 0 && err == nil {
			break
		}
	}
	clearGroup(group, events)
	if n, err := strconv.ParseUint(base, 10, 64); err == nil {
		endMarked(n)
	}
	return 0
}

// clearGroup ends the group and removes it. A process that the kernel cannot end
// now (state D) is waited for, ever more patiently: nobody else would.
func clearGroup(group *linux.Cgroup, events int) {
	for wait := 1; ; wait = min(2*wait, 1000) {
		populated, err := linux.Populated(events)
		if err != nil {
			return
		}
		if !populated && group.Remove() == nil {
			return
		}
		if populated {
			_ = group.Kill() // Best effort: repeated until empty.
		}
		linux.WaitEvent(events, wait)
	}
}

// endStoppedGuardian kills the guardian of a directory that is gone, with its
// supervisor, if it is stopped or traced. One that is not ends by itself.
func endStoppedGuardian(dir string) {
	signalStopped(syscall.SIGKILL, func(_ int, args []string) bool {
		return len(args) == 3 && (args[0] == roleGuardian || args[0] == roleGuardianChild) && args[1] == dir
	})
}
