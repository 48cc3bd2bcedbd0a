package bench

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

// undisturbed has this process, and what it starts from now on, go before all
// else that wants a processor (SCHED_RR), to the end of the test: what is
// compared then meets a quiet machine, whatever its load. False: that is not
// permitted here (CAP_SYS_NICE), and the load counts.
//
// They take turns. Go's background sweeper goes round without a pause while another
// thread sweeps; under SCHED_FIFO one that is before it on each processor would keep
// that thread from its turn for ever.
func undisturbed(t *testing.T) bool {
	t.Helper()
	if err := schedule(schedRR, 1); err != nil {
		t.Logf("other work on this machine counts: %v", err)
		return false
	}
	t.Cleanup(func() {
		if err := schedule(schedOther, 0); err != nil {
			t.Error(err)
		}
	})
	return true
}

// loaded is what a comparison is held at: quiet where it is undisturbed, which it
// is from then on, else busy.
func loaded(t *testing.T, quiet, busy float64) float64 {
	t.Helper()
	if undisturbed(t) {
		return quiet
	}
	return busy
}

const schedOther, schedRR = 0, 2 // sched(7)

// schedule sets the policy of every thread of this process. A new thread has
// that of the one that made it, so it is done until none was new.
func schedule(policy uintptr, priority int32) error {
	for done := map[string]bool{}; ; {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		before := len(done)
		for _, e := range threads {
			id, err := strconv.Atoi(e.Name())
			if err != nil || done[e.Name()] {
				continue
			}
			_, _, no := syscall.Syscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(id), policy, uintptr(unsafe.Pointer(&priority)))
			if no != 0 && no != syscall.ESRCH {
				return os.NewSyscallError("sched_setscheduler", no)
			}
			done[e.Name()] = true
		}
		if len(done) == before {
			return nil
		}
	}
}
