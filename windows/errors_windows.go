package windows

import (
	"fmt"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// What CreateProcess answers when it starts nothing, for errors.Is.
const (
	ErrFileNotFound = xwin.ERROR_FILE_NOT_FOUND
	ErrPathNotFound = xwin.ERROR_PATH_NOT_FOUND
	ErrAccessDenied = xwin.ERROR_ACCESS_DENIED
	ErrElevation    = xwin.ERROR_ELEVATION_REQUIRED
	ErrVirus        = xwin.ERROR_VIRUS_INFECTED
	ErrBadFormat    = xwin.ERROR_BAD_EXE_FORMAT
	ErrWrongMachine = xwin.ERROR_EXE_MACHINE_TYPE_MISMATCH
	ErrDirectory    = xwin.ERROR_DIRECTORY
	ErrNameTooLong  = xwin.ERROR_FILENAME_EXCED_RANGE
	ErrSharing      = xwin.ERROR_SHARING_VIOLATION
	ErrNoMemory     = xwin.ERROR_NOT_ENOUGH_MEMORY
	ErrOutOfMemory  = xwin.ERROR_OUTOFMEMORY
	ErrCommitLimit  = xwin.ERROR_COMMITMENT_LIMIT
	ErrNoResources  = xwin.ERROR_NO_SYSTEM_RESOURCES
	ErrNotSupported = xwin.ERROR_NOT_SUPPORTED
	ErrBadParameter = xwin.ERROR_INVALID_PARAMETER
	ErrJobQuota     = xwin.ERROR_NOT_ENOUGH_QUOTA
)

// Release is the system's version, such as "10.0.19045", or under Wine
// "10.0.19043 (Wine 8.0)".
func Release() string {
	v := xwin.RtlGetVersion()
	text := fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	if wine := Wine(); wine != "" {
		text += " (Wine " + wine + ")"
	}
	return text
}

// Wine is the version of Wine that this program runs under, "" on Windows. It
// takes limits of jobs without holding anybody to them, among other things.
func Wine() string {
	version := xwin.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
	if version.Find() != nil {
		return ""
	}
	// The answer points at a constant of the library, nothing that Go moves.
	text, _, _ := version.Call()
	return xwin.BytePtrToString(*(**byte)(unsafe.Pointer(&text)))
}

// SystemDirectory is where the system's own programs are, such as
// C:\Windows\System32.
func SystemDirectory() (string, error) { return xwin.GetSystemDirectory() }
