package runner

import (
	"io"
	"os"
	"time"

	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

// Options are one run. Argv is all that must be given.
type Options struct {
	// Argv is the program, looked up in the PATH of its own environment, and
	// its arguments.
	Argv []string
	// Dir is the working directory, "" is the runner's; relative to the runner's.
	Dir string
	Env Environment

	// RunID names the run; "" makes one. Labels are shown beside it.
	RunID  string
	Labels map[string]string
	// JSONL is the file of the event stream, made or truncated; "" is none.
	JSONL   string
	Schema  int  // its version: SchemaVersion, or SchemaDetailed; 0 is the former
	ArgvRaw bool // tell the arguments in the stream

	// Timeout and IdleTimeout end the run, SnapshotInterval repeats the list of
	// members; 0 is never. Grace is the time between soft stop and hard kill;
	// nil is none, and SignalGrace after a signal.
	Timeout, IdleTimeout, SnapshotInterval time.Duration
	Grace                                  *time.Duration

	Limits      sys.Limits
	Contain     sys.Level
	AllowWeaker bool
	// Records is where the host notes what it would leave behind when killed.
	Records string

	// CaptureDir gets stdout.log and stderr.log; "" is none. CaptureMax is the
	// most bytes of each, 0 is DefaultCapture. With CaptureCancel more than that
	// ends the run.
	CaptureDir    string
	CaptureMax    int64
	CaptureCancel bool

	Input   Input
	InFile  string // with InputFile
	Inherit bool   // the child gets the runner's own three handles
	NoEcho  bool
	PTY     bool // the child gets a terminal of its own
	// RawInput makes the terminal Stdin hand on every key as it is, until
	// restore; nil when Stdin is no terminal. It is for PTY.
	RawInput func() (restore func() error, err error)

	Stdin          *os.File  // for InputInherit, Inherit and PTY
	Stdout, Stderr io.Writer // where output is echoed to; *os.File for Inherit

	// Release is the version of the binary, as it is told to those who ask.
	Release string
	// Registry lists the run and makes it controllable; nil does neither.
	Registry *registry.Registry
	// Warn is told, in one line, what does not end the run; it may be nil.
	Warn func(text string)
	// Started is called once the command runs; it may be nil.
	Started func(runID string)
}

// Input is what the child reads.
type Input uint8

// The inputs.
const (
	InputNull    Input = iota // nothing
	InputFile                 // the content of a file
	InputInherit              // the runner's own
)

// Environment makes the child's: each field is applied after the one before it.
type Environment struct {
	Base   []string // KEY=value
	Clear  bool     // forget Base
	Remove []string
	Files  []string
	Set    []value.Var
	IDKey  string // gets the run id; "" is none
	// PathExt is Windows' list of executable suffixes.
	PathExt string
}

const (
	// DefaultCapture is the most bytes of a transcript.
	DefaultCapture = 8 << 20
	// SignalGrace is the grace after a signal to the runner.
	SignalGrace = 5 * time.Second
	// linger is how long a descendant may hold the output after the command's end.
	linger = 5 * time.Second
)

// Ending is how a run ended.
type Ending struct {
	Code      int
	Source    Source
	ChildCode *int // the command's own code, where it is the outcome
	// Message tells a person why, unless the end is the command's own.
	Message string
	RunID   string
}
