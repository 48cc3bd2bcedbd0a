package job

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/sys"
)

// OnExit is what happens to the rest of the tree when its leader ends.
type OnExit string

const (
	// Reap ends what is left of the tree; the default.
	Reap OnExit = "reap"
	// Wait keeps the job running until the tree is empty by itself.
	Wait OnExit = "wait"
)

// MaxDeadline is the longest deadline of a job.
const MaxDeadline = math.MaxInt32 * time.Millisecond

// maxLabel is the most Unicode code points of a label.
const maxLabel = 64

// Spec is what somebody asks to run.
type Spec struct {
	// Command is the argument vector, program first; with Shell its words are
	// joined by one space and given to the shell.
	Command []string
	Shell   bool
	// Dir is the working directory, relative to the store's; nil is the store's.
	Dir *string
	Env Env
	// Label is shown to people; nil becomes "job <id>".
	Label *string
	// Deadline counts from the spawn; 0 is none.
	Deadline time.Duration
	OnExit   OnExit
	// MergeStderr puts both streams on one pipe: exact order, all of it stdout.
	MergeStderr bool
	// Contain is the least containment that will do; "" takes the best that the
	// host proved, short of strict. AllowWeaker takes less where it must be.
	Contain     Contain
	AllowWeaker bool
	// Limits cap the whole tree. Where one cannot be enforced the job is born
	// failed, whatever AllowWeaker says.
	Limits Limits
	// Detach gives the job a supervisor of its own: it goes on when the store
	// closes or dies, and the next one adopts it. A place in the queue does not.
	Detach bool
	// Origin is for whom the job is started; nil is the store's own user.
	Origin *Origin
}

// Contain is a floor of containment.
type Contain string

// The floors.
const (
	ContainGroup  Contain = "group"  // at least the process group
	ContainTree   Contain = "tree"   // every descendant, also when the supervisor is killed
	ContainStrict Contain = "strict" // even when supervisor and helper are both killed
)

var levels = map[Contain]sys.Level{
	"": sys.LevelAny, ContainGroup: sys.LevelGroup, ContainTree: sys.LevelTree, ContainStrict: sys.LevelStrict,
}

// ArgumentError says which argument of a request breaks which rule.
type ArgumentError struct {
	Argument, Rule string
}

func (e *ArgumentError) Error() string { return e.Argument + " " + e.Rule }

// Check reports the first rule that the spec breaks, as an *ArgumentError.
func (sp *Spec) Check() error {
	if len(sp.Command) == 0 {
		return &ArgumentError{"command", "must be an array of at least one string"}
	}
	if sp.Shell && strings.TrimSpace(strings.Join(sp.Command, " ")) == "" {
		return &ArgumentError{"command", "must not be blank when shell is true"}
	}
	if !sp.Shell && sp.Command[0] == "" {
		return &ArgumentError{"command", "must name a program in its first element"}
	}
	if sp.Label != nil {
		if err := checkLabel(*sp.Label); err != nil {
			return err
		}
	}
	if sp.Deadline < 0 || sp.Deadline > MaxDeadline {
		return &ArgumentError{"deadline_ms", fmt.Sprintf("must be above 0 and at most %d", MaxDeadline.Milliseconds())}
	}
	switch sp.OnExit {
	case "", Reap, Wait:
	default:
		return &ArgumentError{"on_exit", `must be "reap" or "wait"`}
	}
	if _, known := levels[sp.Contain]; !known {
		return &ArgumentError{"contain", `must be "strict", "tree" or "group"`}
	}
	if err := checkLimits(sp.Limits); err != nil {
		return err
	}
	for k := range sp.Env.Vars {
		if k == "" || strings.Contains(k, "=") {
			return &ArgumentError{"env.vars", fmt.Sprintf("has a name that no environment can hold: %q", k)}
		}
	}
	return nil
}

// checkLimits: what is left out is 0 and no limit.
func checkLimits(l Limits) error {
	switch {
	case l.MemoryBytes < 0 || l.MemoryBytes > 1<<53:
		return &ArgumentError{"limits.memory_bytes", "must be from 1 to 9007199254740992"}
	case l.Tasks < 0 || l.Tasks > math.MaxInt32:
		return &ArgumentError{"limits.tasks", fmt.Sprintf("must be from 1 to %d", math.MaxInt32)}
	case l.CPUs < 0 || math.IsNaN(l.CPUs) || math.IsInf(l.CPUs, 0):
		return &ArgumentError{"limits.cpus", "must be a number of processors above 0, such as 0.5"}
	}
	return nil
}

func checkLabel(l string) error {
	if utf8.RuneCountInString(l) > maxLabel {
		return &ArgumentError{"label", fmt.Sprintf("must have at most %d characters", maxLabel)}
	}
	for _, r := range l {
		if r < 0x20 || r >= 0x7f && r <= 0x9f {
			return &ArgumentError{"label", fmt.Sprintf("must not contain control characters (found U+%04X)", r)}
		}
	}
	return nil
}

// line is the command line for the shell.
func (sp *Spec) line() string { return strings.Join(sp.Command, " ") }

// summary is the base name of the program: never an argument, never the value
// of an assignment, so that no secret of a command line reaches a list.
func (sp *Spec) summary() string { return bounded(maxSummary, "%s", sp.program()) }

func (sp *Spec) program() string {
	if !sp.Shell {
		return filepath.Base(sp.Command[0])
	}
	for _, w := range strings.Fields(sp.line()) {
		if isAssignment(w) {
			continue
		}
		w = strings.Trim(w, `"'`)
		if w == "" {
			break
		}
		return filepath.Base(w)
	}
	return "(shell)"
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	if !ok || name == "" {
		return false
	}
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
