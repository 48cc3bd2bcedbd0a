package job

import (
	"fmt"
	"slices"
	"strings"
)

// State is where a job stands.
type State string

// The states. A queued job is starting; exited, killed and failed are terminal.
const (
	Starting State = "starting"
	Running  State = "running"
	Exited   State = "exited"
	Killed   State = "killed"
	Failed   State = "failed"
)

// moves is the table of allowed moves, the only source of the state drawing.
var moves = map[State][]State{
	Starting: {Running, Killed, Failed},
	Running:  {Exited, Killed, Failed},
	Exited:   nil,
	Killed:   nil,
	Failed:   nil,
}

// States lists all states in the order of a job's life.
func States() []State { return []State{Starting, Running, Exited, Killed, Failed} }

// Valid reports whether s is a state.
func (s State) Valid() bool { _, ok := moves[s]; return ok }

// Terminal reports whether s is final.
func (s State) Terminal() bool { return s.Valid() && len(moves[s]) == 0 }

// move changes *s or says which move was refused.
func (s *State) move(to State) error {
	if !slices.Contains(moves[*s], to) {
		return fmt.Errorf("cannot move a job from %s to %s", *s, to)
	}
	*s = to
	return nil
}

// drawing renders the table as a Mermaid state diagram.
func drawing() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> starting\n")
	for _, from := range States() {
		for _, to := range moves[from] {
			fmt.Fprintf(&b, "    %s --> %s\n", from, to)
		}
	}
	for _, s := range States() {
		if s.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	return b.String()
}

// EndedBy is what ended a job.
type EndedBy string

// The causes of an end. The cause is the first of: the leader's end observed,
// the first signal of a kill, deadline or shutdown delivered.
const (
	ByExit           EndedBy = "exit"            // the leader exited
	BySignal         EndedBy = "signal"          // the leader died of a signal that we did not send
	ByMemory         EndedBy = "memory"          // the kernel killed it for want of memory
	ByDeadline       EndedBy = "deadline"        // its deadline passed
	ByKill           EndedBy = "kill"            // somebody asked for it
	ByShutdown       EndedBy = "shutdown"        // the store closed
	BySpawnFailed    EndedBy = "spawn_failed"    // nothing was started
	ByPolicyDenied   EndedBy = "policy_denied"   // the policy refused it
	ByQueueCancelled EndedBy = "queue_cancelled" // killed while it waited for a slot
	ByLost           EndedBy = "lost"            // the launcher lost sight of it
)

// Natural reports whether the end is the leader's own.
func (e EndedBy) Natural() bool { return e == ByExit || e == BySignal || e == ByMemory }

// Step is where a teardown stands.
type Step string

// The steps of a teardown, in order.
const (
	StepSoft  Step = "soft"  // the soft stop was sent, the grace runs
	StepHard  Step = "hard"  // the hard kill was sent, emptiness is awaited
	StepDrain Step = "drain" // the tree is over, its pipes are read to the end
)

// Ending tells that a teardown is under way.
type Ending struct {
	By    EndedBy
	Since int64 // milliseconds since 1970
	Step  Step
}
