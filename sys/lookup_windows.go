package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/windows"
)

func hasDirectory(name string) bool { return windows.HasDirectory(name) }

// executables gives what finds the file that is run by a path, which may lack
// its extension.
func executables(pathext string) func(full string) (string, *StartError) {
	extensions := windows.Extensions(pathext)
	return func(full string) (string, *StartError) { return firstProgram(full, extensions) }
}

// absolute takes name relative to dir. A path that begins with a separator but
// names no drive is on dir's drive.
func absolute(name, dir string) string {
	switch {
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	case filepath.VolumeName(name) != "":
		// "c:x" is relative to a directory of that drive which only the process
		// itself knows; on dir's drive that is dir.
		volume := filepath.VolumeName(name)
		if strings.EqualFold(volume, filepath.VolumeName(dir)) {
			return filepath.Join(dir, name[len(volume):])
		}
		return volume + `\` + name[len(volume):]
	case os.IsPathSeparator(name[0]):
		return filepath.Join(filepath.VolumeName(dir)+`\`, name)
	}
	return filepath.Join(dir, name)
}

// firstProgram tries what a name may mean, in order.
func firstProgram(full string, extensions []string) (string, *StartError) {
	runnable := slices.Concat(extensions, windows.Extensions(windows.DefaultPathExt))
	var refused *StartError
	for _, candidate := range windows.Candidates(full, extensions) {
		err := checkProgram(candidate)
		if err == nil && !windows.IsProgram(candidate, runnable) {
			err = &StartError{Code: CodeNotExecutable, Path: candidate, Detail: "its extension is not among PATHEXT"}
		}
		if err == nil {
			return candidate, nil
		}
		if err.Code != CodeNotFound && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &StartError{Code: CodeNotFound, Path: full, Detail: "no such file", Err: fs.ErrNotExist}
}

// checkProgram tells why there is no file to run, or nil.
func checkProgram(full string) *StartError {
	fi, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StartError{Code: CodeNotFound, Path: full, Detail: "no such file", Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &StartError{Code: CodePermissionDenied, Path: full, Detail: "permission denied", Err: err}
	case err != nil:
		return &StartError{Code: CodeNotFound, Path: full, Detail: errnoText(err), Err: err}
	case fi.IsDir():
		return &StartError{Code: CodeNotExecutable, Path: full, Detail: "is a directory"}
	}
	// The system's stubs for store applications are reparse points that stat as
	// irregular and can be run.
	return nil
}

// shell runs a line with comspec, or with cmd.exe where that is not set.
func shell(line, comspec string) (string, []string) {
	if comspec == "" {
		comspec = `C:\Windows\System32\cmd.exe`
		if dir, err := windows.SystemDirectory(); err == nil {
			comspec = filepath.Join(dir, "cmd.exe")
		}
	}
	return comspec, []string{comspec, "/d", "/s", "/c", line}
}

// isShellCall recognises what shell makes. Its line must reach cmd.exe as it
// is: quoted as an argument its inner quotes would not come back.
func isShellCall(argv []string) bool {
	return len(argv) == 5 && argv[1] == "/d" && argv[2] == "/s" && argv[3] == "/c" &&
		strings.EqualFold(filepath.Base(argv[0]), "cmd.exe")
}
