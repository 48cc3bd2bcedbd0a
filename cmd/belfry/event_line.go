package main

import (
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/runner"
)

// event is an event on one line, as its String is, with colours.
func (s screen) event(e runner.Shown) string {
	if !s.coloured {
		return e.String()
	}
	var b strings.Builder
	b.WriteString(s.paint(e.Time, faint) + "  " + s.paint(e.Name, eventColour(e)))
	for _, f := range e.Fields {
		b.WriteString(" " + s.paint(f.Key+"=", faint) + f.Value)
	}
	return b.String()
}

// eventColour tells how a run goes, in the colours of the states.
func eventColour(e runner.Shown) string {
	switch runner.Name(e.Name) {
	case runner.EventRunStarted:
		return green
	case runner.EventTimeout, runner.EventOutputOverflow, runner.EventCancelled, runner.EventKilled:
		return yellow
	case runner.EventSpawnFailed, runner.EventContainerFailed, runner.EventLimitHit:
		return red
	case runner.EventRootExited, runner.EventRunnerExit:
		if slices.Contains(e.Fields, runner.Field{Key: "code", Value: "0"}) {
			return green
		}
		return red
	}
	return ""
}
