package job

import (
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// Snapshot is one consistent view of a job's record. Zero times, nil pointers
// and empty strings mean that there is nothing to tell. As JSON it is part of the
// journals of detached jobs, which other versions read: a field may be added, and
// none may change its meaning.
type Snapshot struct {
	ID      string
	State   State
	Label   string
	Command string // base name of the program, never its arguments
	Client  string // who started it (Origin.Client); "" where nobody is told apart

	Created time.Time
	Spawned time.Time
	Ended   time.Time

	QueuePosition int `json:"-"` // 1-based while queued, else 0

	ExitCode   *int   // state exited
	Signal     string // state killed
	EndedBy    EndedBy
	Diagnostic *Diagnostic // state failed
	LeaderExit *LeaderExit // the leader ended, the job goes on or ended otherwise
	Ending     *Ending     // a teardown is under way
	Stopped    bool        // the leader is stopped (SIGSTOP, Ctrl-Z)

	Counts [2]ring.Stat `json:"-"` // by ring.Kind

	KillConfirmed     *bool
	IdentityConfirmed *bool
	Identity          *Identity // the leader's, kept after the end
	IdentityCapture   string    // pending, captured, unavailable; "" if nothing was spawned
	Survivors         []Member
	Drained           *bool // false: a stranger kept a pipe open

	Guarantee *Guarantee
	Limits    []LimitRecord  // in force, as read back at the start
	Evidence  *LimitEvidence // after the end of a job with limits
	Usage     *Usage         // after the end
}

// Terminal reports whether the job has ended.
func (s *Snapshot) Terminal() bool { return s.State.Terminal() }

// Reason is the class of a diagnostic.
type Reason string

// The reasons.
const (
	ReasonSpawn   Reason = "spawn-error"
	ReasonPolicy  Reason = "policy-denied"
	ReasonRuntime Reason = "watcher/runtime-error"
)

// Diagnostic says why a job failed. Code is one of sys.Code's values or
// policy_denied, cwd_outside_roots, detach_unavailable, deadline, lost.
type Diagnostic struct {
	Reason  Reason
	Code    string
	Message string
	// Limits tells of each limit that was asked for, when Code is
	// limit_unavailable.
	Limits []LimitRecord
}

// LeaderExit is how the leader ended.
type LeaderExit struct {
	Code   *int
	Signal string
	At     time.Time
}

// Identity names one process beyond the reuse of its number.
type Identity struct {
	PID   int
	Kind  sys.BirthKind
	Birth uint64
}

// Member is a process that outlived a teardown.
type Member struct {
	PID     int
	Command string
}

// Guarantee is what contains a job.
type Guarantee struct {
	Mechanism       string
	Kill            string
	LeaderExit      string
	SupervisorDeath string
	HelperDeath     string
}

// Usage is what a job's tree has used; a field that is not known is -1.
type Usage struct {
	CPU           time.Duration
	PeakMemory    int64 // bytes
	IORead        int64 // bytes
	IOWrite       int64 // bytes
	PeakProcesses int
}

func guaranteeOf(g sys.Guarantee) *Guarantee {
	return &Guarantee{
		Mechanism: string(g.Mechanism), Kill: string(g.Kill), LeaderExit: string(g.LeaderExit),
		SupervisorDeath: string(g.SupervisorDeath), HelperDeath: string(g.HelperDeath),
	}
}

func membersOf(ms []sys.Member) []Member {
	out := make([]Member, 0, len(ms))
	for _, m := range ms {
		out = append(out, Member{PID: m.ID.PID, Command: m.Command})
	}
	return out
}

// Snapshot reads the record.
func (j *Job) Snapshot() Snapshot {
	s := j.brief()
	if s.State != Running {
		return s
	}
	j.mu.Lock()
	tree := j.tree
	j.mu.Unlock()
	if tree != nil {
		s.Guarantee = guaranteeOf(tree.Guarantee())
		s.Stopped = s.LeaderExit == nil && tree.Stopped()
	} else if id := s.Identity; id != nil && s.LeaderExit == nil {
		s.Stopped = sys.Stopped(sys.ID{PID: id.PID, Kind: id.Kind, Birth: id.Birth})
	}
	return s
}

// brief reads the record without asking the kernel for anything.
func (j *Job) brief() Snapshot {
	j.mu.Lock()
	s := j.rec
	j.mu.Unlock()
	s.QueuePosition = int(j.place.Load())
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		s.Counts[k] = j.out().Stat(k)
	}
	return s
}
