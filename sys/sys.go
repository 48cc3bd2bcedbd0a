package sys

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrUnsupported is returned by whatever this operating system cannot do.
var ErrUnsupported = errors.New("not supported on this system")

// Level is the least containment that a caller accepts.
type Level uint8

const (
	// LevelAny takes the best rung that the host proved, short of strict.
	LevelAny Level = iota
	// LevelGroup wants at least a process group.
	LevelGroup
	// LevelTree wants a container that no member leaves by setsid or a double fork.
	LevelTree
	// LevelStrict wants a container that ends even when supervisor and helper are both killed.
	LevelStrict
)

// Mechanism names how a tree is contained.
type Mechanism string

// The mechanisms, strongest first on Linux.
const (
	PIDNamespace Mechanism = "pid_namespace"
	CgroupV2     Mechanism = "cgroup_v2"
	Subreaper    Mechanism = "subreaper"
	ProcessGroup Mechanism = "process_group"
	JobObject    Mechanism = "job_object"
)

// Scope tells how far one end of a tree reaches.
type Scope string

const (
	// ScopeTree reaches every member.
	ScopeTree Scope = "tree"
	// ScopeTreeOnRestart reaches every member, but only once belfry starts again.
	ScopeTreeOnRestart Scope = "tree_on_restart"
	// ScopeGroup reaches the leader's process group and what ancestry finds.
	ScopeGroup Scope = "group"
	// ScopeLeader reaches the leader alone.
	ScopeLeader Scope = "leader"
	// ScopeNone reaches nothing.
	ScopeNone Scope = "none"
)

// Guarantee is what contains one tree: its mechanism and how far each way of
// ending reaches. It never says more than is true.
type Guarantee struct {
	Mechanism       Mechanism
	Kill            Scope // Tree.Kill
	LeaderExit      Scope // teardown after the leader ended
	SupervisorDeath Scope // this process was killed
	HelperDeath     Scope // this process and its guardian were both killed
}

// Proof is the observation that a tree is empty.
type Proof string

const (
	// ProofNone means that emptiness was not observed.
	ProofNone Proof = ""
	// ProofCgroupEmpty: the leader's exit was seen, and cgroup.events said "populated
	// 0" or the kernel removed the group, which it does only when nothing lives in it.
	ProofCgroupEmpty Proof = "cgroup_empty"
	// ProofNoChildren: the subreaper's waitid said ECHILD.
	ProofNoChildren Proof = "no_children"
	// ProofNamespaceGone: the first process of the pid namespace was reaped.
	ProofNamespaceGone Proof = "namespace_gone"
	// ProofJobZero: the Job Object counts no active process.
	ProofJobZero Proof = "job_zero"
	// ProofGroupScan: a scan of the process table found no member by identity.
	ProofGroupScan Proof = "group_scan"
)

// FileStamp identifies one version of a file, so that what was approved is
// what runs. The zero value matches nothing.
type FileStamp struct {
	Dev, Inode uint64
	Size       int64
	Change     int64 // change time, nanoseconds since 1970 (write time on Windows)
}

// Spec is what to start. Path is absolute; nothing is looked up here.
type Spec struct {
	Path string
	Argv []string // Argv[0] included
	Env  []string // KEY=value, the whole environment; Windows adds SystemRoot when it is missing
	Dir  string   // absolute, symbolic links resolved
	// Umask are the permission bits, up to 0777, that files which the tree makes
	// do not get; nil is this process's own. Windows has no such thing. On macOS
	// it is this whole process's while a program is being started with it.
	Umask *int
	// Stdio are the child's descriptors 0, 1 and 2; nothing else is inherited.
	// The caller closes its copies after Start, whatever Start answered.
	Stdio [3]*os.File
	// Approved, when not zero, is the executable that a policy approved: Start
	// compares it immediately before exec and, for a native binary, with the
	// started process right after. A mismatch ends the tree and is a
	// *StartError with CodeChanged.
	Approved FileStamp
	// Limits cap the whole tree. Where one cannot be enforced nothing is
	// started: a *StartError with CodeLimitUnavailable and the records.
	Limits      Limits
	Session     Session
	Want        Level
	AllowWeaker bool // of Want, not of Limits
}

// Host starts trees on this machine.
type Host interface {
	// Probe tries every rung by using it and reports what works here.
	Probe(ctx context.Context) Report
	// Prepare starts in the background what the first Start would otherwise
	// wait for (the guardian). It returns at once and may be called repeatedly.
	Prepare()
	// Start starts one tree or nothing. The error is a *StartError where the
	// cause is known.
	Start(ctx context.Context, sp Spec) (Tree, error)
	// Lookup reads the identity of a live process.
	Lookup(pid int) (ID, error)
	// Sweep ends what dead supervisors have left behind, by the records in
	// HostOptions.Records, and tells what it did for each. What a live one holds
	// is never touched. Without a directory, and where the kernel leaves nothing
	// behind, there is nothing to do.
	Sweep(ctx context.Context) ([]SweepResult, error)
	// Close ends the helpers and removes the host's containers. Every tree must
	// have been released.
	Close() error
}

// Exit is how a leader ended.
type Exit struct {
	Code   int    // exit status, meaningful when Signal is 0
	Signal Signal // terminating signal, or 0
	Core   bool   // a core was dumped
	At     time.Time
}

// Member is one process of a tree. Command is its short name, for people; PPID
// is its parent's number as it was read, 0 where that is not told.
type Member struct {
	ID      ID
	PPID    int
	Command string
}

// Completeness tells how much a list of members covers.
type Completeness uint8

const (
	// BestEffort lists may lack members.
	BestEffort Completeness = iota
	// GroupOnly lists cover the process group and what ancestry found.
	GroupOnly
	// Exact lists are the kernel's own account of the container.
	Exact
)

// Delivery tells whom a signal reached.
type Delivery struct {
	// Sent is the number of live members signalled, each once. One that had
	// ended before is not counted, though the kernel takes the signal to a
	// zombie; so 0 means that the signal changed nothing.
	Sent int
}

// KillReport is the outcome of a hard kill.
type KillReport struct {
	Proof     Proof
	Survivors []Member
	Took      time.Duration
}

// Usage is what a tree has used. A field that this host cannot tell is -1.
type Usage struct {
	CPU           time.Duration // user and system time
	PeakMemory    int64         // bytes
	IORead        int64         // bytes from storage
	IOWrite       int64         // bytes to storage
	PeakProcesses int
}

// Tree is a leader and every descendant that its container holds. All methods
// are safe for concurrent use.
type Tree interface {
	// Leader is the identity of the started process.
	Leader() ID
	// Guarantee is what is in force, fixed at Start unless a member is found
	// to have left its container.
	Guarantee() Guarantee
	// Exited is closed when the leader's end was observed. Exit is valid then.
	Exited() <-chan struct{}
	Exit() Exit
	// Ended asks the kernel now whether the leader has ended, which may be a
	// while before Exited is closed: this process may have been stopped or kept
	// waiting. Once it says yes, Exited is closed soon.
	Ended() bool
	// Empty is closed when the whole tree was proved empty. Proof is valid then.
	Empty() <-chan struct{}
	Proof() Proof
	// Signal sends one signal to every member, each exactly once. For SIGTERM,
	// SIGINT, SIGHUP, SIGQUIT a SIGCONT follows, so that stopped members can act.
	Signal(sig Signal) (Delivery, error)
	// Kill ends the whole tree by the hardest means and returns when it was
	// proved empty or ctx ended, with the survivors by name.
	Kill(ctx context.Context) (KillReport, error)
	// Members lists the live members.
	Members() ([]Member, Completeness)
	// Stopped reports whether the leader is stopped (SIGSTOP, Ctrl-Z).
	Stopped() bool
	// Usage reads the counters; it stays valid after the end.
	Usage() Usage
	// Limits are the limits in force, as read back at the start; none when none
	// were asked for.
	Limits() []LimitRecord
	// Evidence tells which limits were met so far; it stays valid after the end.
	Evidence() LimitEvidence
	// Release frees the container and what the kernel still holds of the
	// leader. It is legal once empty was proved or the caller gave up; it is
	// idempotent.
	Release() error
}
