//go:build unix

package runner

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// early are the signals that ask a run to end. One that was ignored from the
// start stays ignored (nohup), but for SIGTERM: the Go runtime has put its own
// handler there before anybody can look. SIGPIPE is taken and dropped: a consumer
// of the output that is gone is an error of a write. SIGQUIT is handed on, and
// would end the runner at once until then.
func early() []os.Signal {
	list := []os.Signal{syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGQUIT}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// late are the signals that are handed on, in one way or another.
func late() []os.Signal {
	return []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGCHLD}
}

// missed is what may have come before the late ones were taken and must not be
// lost: the command may have been stopped already.
var missed os.Signal = syscall.SIGCHLD

// stopWord is the event's word for a signal that asks for the end.
func stopWord(s os.Signal) (string, bool) {
	switch s {
	case syscall.SIGINT:
		return ctrlC, true
	case syscall.SIGTERM:
		return "sigterm", true
	case syscall.SIGHUP:
		return "sighup", true
	}
	return "", false
}

// pass hands another signal on. A stop from the terminal suspends the tree and
// then this process, and what continues it continues the tree.
func (r *run) pass(j *job.Job, s os.Signal) {
	no, _ := s.(syscall.Signal)
	switch no {
	case syscall.SIGPIPE:
	case syscall.SIGCHLD:
		sys.ReapOrphans()
		// The keys of a terminal that the child has reach the child alone, and
		// from the background it is stopped by itself. Our parent, a shell,
		// watches us.
		if r.screen.shared && !r.clocks.asleep() && j.Snapshot().Stopped {
			r.sleep()
		}
	case syscall.SIGTSTP:
		if r.clocks.asleep() {
			return
		}
		_ = j.Forward(sys.SIGSTOP) // Best effort: a tree that is over needs none.
		if r.signals.soon(syscall.SIGCONT) {
			_ = j.Forward(sys.SIGCONT) // Best effort, as above.
			return
		}
		r.sleep()
	case syscall.SIGCONT:
		if !r.clocks.asleep() {
			r.signals.soon(syscall.SIGTSTP) // over already, as below
		}
		r.screen.again(r, j)
		_ = j.Forward(sys.SIGCONT) // Best effort, as above.
		r.clocks.resume()
	case syscall.SIGWINCH:
		if !r.screen.resize(r) {
			_ = j.Forward(sys.SIGWINCH) // Best effort, as above.
		}
	default:
		_ = j.Forward(sys.Signal(no)) // Best effort, as above.
	}
}

// together is how far apart signals may be told that came at once, and in what
// order is not told. Nobody continues what was not stopped, so a stop beside that is
// over, and to sleep then would be for ever.
const together = 20 * time.Millisecond

// soon waits that long for a signal; what else comes is put back.
func (s *signals) soon(sig os.Signal) (came bool) {
	late := time.After(together)
	var others []os.Signal
	for waits := true; waits && !came; {
		select {
		case got := <-s.c:
			if came = got == sig; !came {
				others = append(others, got)
			}
		case <-late:
			waits = false
		}
	}
	for _, got := range others {
		s.again(got)
	}
	return came
}

// sleep stops this process until somebody continues it, which SIGCONT tells.
func (r *run) sleep() {
	r.clocks.suspend()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // cannot fail
}
