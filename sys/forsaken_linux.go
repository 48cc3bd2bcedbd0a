package sys

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// continueForsaken lets keepers and shims go on that are stopped and whose
// supervisor is gone: a job may have stopped one before it was known, or both, so
// that neither continues the other. They end then, and what they hold before.
func continueForsaken() {
	signalStopped(syscall.SIGCONT, func(pid int, args []string) bool {
		return len(args) == 1 && (args[0] == roleKeeper || args[0] == roleShim) && linux.HoldsGone(pid, shimBoss)
	})
}

// signalStopped signals the helpers that are stopped or traced and are meant by
// their role and its arguments.
func signalStopped(sig syscall.Signal, isMeant func(pid int, args []string) bool) {
	_ = linux.EachStat("/proc", func(st linux.Stat) { // Best effort: they do nothing any more.
		if !st.Stopped() {
			return
		}
		line, err := os.ReadFile("/proc/" + strconv.Itoa(st.PID) + "/cmdline")
		if err != nil {
			return
		}
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if args[0] == helperName && isMeant(st.PID, args[1:]) {
			_ = linux.SignalProcess(st.PID, st.Start, sig) // ESRCH: it has ended
		}
	})
}
