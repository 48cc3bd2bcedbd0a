package sys

import "fmt"

// Code is the machine-readable cause of a failed start.
type Code string

// The codes of a StartError.
const (
	CodeCwdMissing             Code = "cwd_missing"
	CodeCwdNotDirectory        Code = "cwd_not_directory"
	CodeNotFound               Code = "not_found"
	CodeNotExecutable          Code = "not_executable"
	CodePermissionDenied       Code = "permission_denied"
	CodeBadFormat              Code = "bad_format"
	CodeInterpreterMissing     Code = "interpreter_missing"
	CodeArgumentsTooLong       Code = "argument_list_too_long"
	CodeNulInArgument          Code = "nul_in_argument"
	CodeFileBusy               Code = "file_busy"
	CodeResourcesExhausted     Code = "resources_exhausted"
	CodeStartTimeout           Code = "start_timeout"
	CodeContainmentUnavailable Code = "containment_unavailable"
	// CodeLimitUnavailable: a limit cannot be enforced; StartError.Limits tells.
	CodeLimitUnavailable Code = "limit_unavailable"
	// CodeChanged: the executable is not the one that was approved.
	CodeChanged Code = "changed"
	// CodeSpawn is every other failure of the kernel's call.
	CodeSpawn Code = "spawn_failed"
)

// StartError says why nothing was started, on what, and, where there is
// something to do, what. Detail is a whole sentence fragment in lower case.
type StartError struct {
	Code   Code
	Path   string // what it failed on; may be empty
	Detail string
	Err    error // the kernel's error; may be nil
	// Limits has one record for each limit that was asked for, when Code is
	// CodeLimitUnavailable.
	Limits []LimitRecord
}

func (e *StartError) Error() string {
	switch {
	case e.Path != "" && e.Detail != "":
		return fmt.Sprintf("%s: %s", e.Path, e.Detail)
	case e.Detail != "":
		return e.Detail
	case e.Err != nil:
		return fmt.Sprintf("start %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("start %s: %s", e.Path, e.Code)
}

// Unwrap gives the kernel's error.
func (e *StartError) Unwrap() error { return e.Err }
