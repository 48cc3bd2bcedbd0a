//go:build linux || darwin || windows

package sys

import (
	"path/filepath"
	"strconv"
	"strings"
)

// validate refuses what no system can start.
func (sp *Spec) validate() *StartError {
	for _, list := range [2][]string{sp.Argv, sp.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return &StartError{Code: CodeNulInArgument, Detail: "an argument or variable contains a NUL byte, which no process can receive"}
			}
		}
	}
	switch {
	case strings.IndexByte(sp.Path, 0) >= 0 || strings.IndexByte(sp.Dir, 0) >= 0:
		return &StartError{Code: CodeNulInArgument, Detail: "a path contains a NUL byte, which no file name can have"}
	case !filepath.IsAbs(sp.Path):
		return &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "is not an absolute path"}
	case !filepath.IsAbs(sp.Dir):
		return &StartError{Code: CodeSpawn, Path: sp.Dir, Detail: "the working directory is not an absolute path"}
	case len(sp.Argv) == 0:
		return &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "has no argument list, not even its own name"}
	}
	if m := sp.Umask; m != nil && (*m < 0 || *m > 0o777) {
		return &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "the umask is not between 0 and 0777"}
	}
	for i, f := range sp.Stdio {
		if f == nil {
			return &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "descriptor " + strconv.Itoa(i) + " was not given"}
		}
	}
	return sp.Limits.validate()
}
