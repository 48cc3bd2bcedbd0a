package runner

import (
	"os"
	"os/signal"
)

// signals are those that concern a run, from its first check to its end.
type signals struct{ c chan os.Signal }

// catchSignals takes those over that count from the first check on.
func catchSignals() *signals {
	// A few may come at once; more of the same kind say nothing new.
	s := &signals{c: make(chan os.Signal, 16)}
	signal.Notify(s.c, early()...)
	return s
}

// catchRest takes the others over, which mean nothing before the command runs.
// Each costs a turn of two threads, and then the command runs meanwhile.
func (s *signals) catchRest() {
	rest := late()
	if len(rest) == 0 {
		return // Notify would take all
	}
	signal.Notify(s.c, rest...)
	select {
	case s.c <- missed:
	default: // full: whoever empties it looks anyway
	}
}

// again puts a signal back that was taken too early.
func (s *signals) again(sig os.Signal) {
	select {
	case s.c <- sig:
	default: // full: there are others of its kind
	}
}

func (s *signals) stop() { signal.Stop(s.c) }
