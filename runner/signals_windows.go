package runner

import (
	"os"
	"syscall"

	"github.com/belfry-dev/belfry/job"
)

// early are the console events that ask a run to end, as Go names them: Ctrl-C
// and Ctrl-Break are os.Interrupt; close, logoff and shutdown are SIGTERM.
func early() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// late are none: Windows has no other signals.
func late() []os.Signal { return nil }

// missed is none either.
var missed os.Signal

// stopWord is the event's word for a console event that asks for the end.
func stopWord(s os.Signal) (string, bool) {
	switch s {
	case os.Interrupt:
		return ctrlC, true
	case syscall.SIGTERM:
		return "ctrl_close", true
	}
	return "", false
}

// pass has nothing to hand on: Windows has no other signals.
func (r *run) pass(*job.Job, os.Signal) {}
