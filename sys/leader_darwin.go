package sys

import "github.com/belfry-dev/belfry/darwin"

// Leader is the identity of the started process.
func (t *groupTree) Leader() ID { return t.id }

// Exited is closed when the leader's end was observed.
func (t *groupTree) Exited() <-chan struct{} { return t.exited }

// Exit is valid once Exited is closed.
func (t *groupTree) Exit() Exit {
	if t.ended() {
		return t.exit
	}
	return Exit{}
}

func (t *groupTree) ended() bool {
	select {
	case <-t.exited:
		return true
	default:
		return false
	}
}

// Guarantee: while a guardian watches it ends the group of a killed supervisor.
// A supervisor that is killed in the moment between the fork and the message to
// the guardian leaves that one job behind.
func (t *groupTree) Guarantee() Guarantee {
	// An armed guardian has been told of every group.
	armed, _ := t.host.guardian.isArmed()
	return groupGuarantee(armed)
}

func groupGuarantee(guarded bool) Guarantee {
	g := Guarantee{Mechanism: ProcessGroup, Kill: ScopeGroup, LeaderExit: ScopeGroup,
		SupervisorDeath: ScopeNone, HelperDeath: ScopeNone}
	if guarded {
		g.SupervisorDeath = ScopeGroup
	}
	return g
}

// Limits: none are in force, since no container could hold them.
func (t *groupTree) Limits() []LimitRecord { return nil }

// Evidence: without limits none is met.
func (t *groupTree) Evidence() LimitEvidence { return noEvidence }

// Stopped reports whether the leader is stopped.
func (t *groupTree) Stopped() bool {
	return !t.ended() && stopped(t.id)
}

// Usage is the leader's own and that of the children it waited for.
func (t *groupTree) Usage() Usage {
	if !t.ended() {
		t.measure()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}

// measure reads the counters while the leader is there, as a zombie too.
func (t *groupTree) measure() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return
	}
	u, err := darwin.ReadRusage(t.id.PID)
	if err != nil {
		return
	}
	t.used.CPU, t.used.IORead, t.used.IOWrite = u.CPU, u.DiskRead, u.DiskWritten
	// The account of a zombie may have no footprint left: the highest counts.
	if u.PeakFootprint > 0 {
		t.used.PeakMemory = max(t.used.PeakMemory, u.PeakFootprint)
	}
}
