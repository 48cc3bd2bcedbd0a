package runner

import (
	"strconv"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/sys"
)

// mechanismOf is the stream's word for a rung.
func mechanismOf(m string) Mechanism {
	switch sys.Mechanism(m) {
	case sys.CgroupV2:
		return MechanismCgroupV2
	case sys.ProcessGroup:
		return MechanismProcessGroup
	case sys.JobObject:
		return MechanismJobObject
	case sys.Subreaper, sys.PIDNamespace:
		return MechanismProcessReaper
	}
	return MechanismUnknown
}

// abruptOf is the stream's word for what ends with the runner.
func abruptOf(scope string) AbruptCleanup {
	switch sys.Scope(scope) {
	case sys.ScopeTree:
		return AbruptWholeTree
	case sys.ScopeLeader, sys.ScopeGroup:
		return AbruptDirectChildOnly
	}
	return AbruptNone
}

// snapshotOf lists members for the stream.
func snapshotOf(reason string, members []sys.Member, how sys.Completeness) MembersSnapshot {
	s := MembersSnapshot{Reason: reason, ReadError: how == sys.BestEffort, Members: []Member{}}
	for _, m := range members {
		s.Members = append(s.Members, memberOf(m))
	}
	return s
}

// memberOf tells one process. Its start is the system's own stamp: it tells one
// process from a later one with the same number, and no time of day.
func memberOf(m sys.Member) Member {
	out := Member{PID: m.ID.PID}
	if m.PPID > 0 {
		out.PPID = &m.PPID
	}
	if m.Command != "" {
		out.Name = &m.Command
	}
	if m.ID.Birth != 0 {
		s := strconv.FormatUint(m.ID.Birth, 10)
		out.StartTime = &s
	}
	return out
}

func controlMembers(members []sys.Member) []control.Member {
	out := []control.Member{}
	for _, m := range members {
		out = append(out, control.Member(memberOf(m)))
	}
	return out
}
