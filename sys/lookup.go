package sys

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// FindExecutable turns a command's name into the absolute path of an
// executable file. A name with a separator is taken relative to dir. Any other
// is looked for in each non-empty entry of path, a list in the system's own
// format whose relative entries are relative to dir. The file must be regular
// and carry an execute bit. pathext is Windows' list of suffixes and ignored
// elsewhere.
//
// Errors are *StartError: CodeNotFound (Detail tells where was looked),
// CodeNotExecutable or CodePermissionDenied.
func FindExecutable(name, dir, path, pathext string) (string, error) {
	switch {
	case name == "":
		return "", &StartError{Code: CodeNotFound, Detail: "the command is empty"}
	case strings.IndexByte(name, 0) >= 0:
		return "", &StartError{Code: CodeNulInArgument, Detail: "the command's name holds a NUL byte"}
	}
	try := executables(pathext)
	full, err := "", (*StartError)(nil)
	if hasDirectory(name) {
		full, err = try(absolute(name, dir))
	} else {
		full, err = searchPath(name, dir, path, try)
	}
	if err != nil {
		return "", err
	}
	return full, nil
}

// searchPath tries the directories of a PATH, one after another.
func searchPath(name, dir, path string, try func(full string) (string, *StartError)) (string, *StartError) {
	// The first file that exists but cannot be run explains more than "not
	// found" does, so it is remembered.
	var refused *StartError
	for _, entry := range filepath.SplitList(path) {
		if entry == "" {
			continue
		}
		full, err := try(filepath.Join(absolute(entry, dir), name))
		if err == nil {
			return full, nil
		}
		if err.Code != CodeNotFound && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	where := "PATH is empty"
	if path != "" {
		where = "not found in PATH " + path
	}
	return "", &StartError{Code: CodeNotFound, Path: name, Detail: where, Err: fs.ErrNotExist}
}

// Absolute takes a path relative to dir, which is absolute. On Windows one that
// begins with a separator and names no drive is on dir's.
func Absolute(path, dir string) string { return absolute(path, dir) }

// Shell gives the program and the arguments that run a shell command line:
// /bin/sh -c LINE, or on Windows comspec /d /s /c "LINE".
func Shell(line, comspec string) (path string, argv []string) { return shell(line, comspec) }

// Stamp reads which version of a file is at path now, symbolic links followed.
func Stamp(path string) (FileStamp, error) { return stamp(path) }

// Stopped reports whether a process, and no later one of its number, is stopped
// now (SIGSTOP, Ctrl-Z); false where that cannot be told.
func Stopped(id ID) bool { return stopped(id) }
