package runner

// The exit codes of the runner itself. A command's own code passes through
// unchanged, also one of these, so that the source in runner_exit alone tells
// whose it is.
const (
	ExitUsage             = 100 // the command line was not understood
	ExitSpawn             = 101 // the program is missing or cannot be executed
	ExitBackend           = 102 // the container or a limit could not be had
	ExitControl           = 103 // a run could not be found or reached
	ExitInternal          = 104 // the runner's own fault
	ExitTimeout           = 106 // --timeout or --idle-timeout
	ExitCancelled         = 107 // a signal to the runner
	ExitControlCancelled  = 108 // the verb cancel
	ExitControlKilled     = 109 // the verb kill
	ExitProbeIncompatible = 110 // a requirement of probe is not met
	ExitSetup             = 111 // an ordinary prerequisite is missing
	ExitWaitTimeout       = 112 // the deadline of the verb wait
	ExitOverflow          = 113 // more output than allowed
	ExitEventsInvalid     = 114 // events --validate found a bad line
	ExitNotAMember        = 115 // attest: outside
	ExitHostUnqualified   = 116 // doctor: no
)

// Source says who is behind the code of runner_exit.
type Source string

// The sources.
const (
	SourceChild          Source = "child_exit"
	SourceTimeout        Source = "timeout"
	SourceOverflow       Source = "output_overflow"
	SourceCancelled      Source = "cancelled"
	SourceControlCancel  Source = "control_cancel"
	SourceControlKill    Source = "control_kill"
	SourceSpawnError     Source = "spawn_error"
	SourceContainerError Source = "container_error"
	SourceInternal       Source = "internal"
	SourceSetup          Source = "setup"
)

// Code is the exit code of an ending that is the runner's own; 0 for the
// command's.
func (s Source) Code() int {
	switch s {
	case SourceTimeout:
		return ExitTimeout
	case SourceOverflow:
		return ExitOverflow
	case SourceCancelled:
		return ExitCancelled
	case SourceControlCancel:
		return ExitControlCancelled
	case SourceControlKill:
		return ExitControlKilled
	case SourceSpawnError:
		return ExitSpawn
	case SourceContainerError:
		return ExitBackend
	case SourceInternal:
		return ExitInternal
	case SourceSetup:
		return ExitSetup
	}
	return 0
}
