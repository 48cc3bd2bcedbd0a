package windows

import (
	"fmt"
	"strings"
)

// interpreted are the characters that cmd.exe acts on, and ends of lines.
const interpreted = "\"%!^&|<>()\r\n"

// BatchCommandLine is the line that makes cmd.exe run a batch file with
// arguments. CreateProcess would hand a .bat or .cmd to cmd.exe with the
// quoting of programs, which cmd.exe does not know. And however an argument is
// quoted, a script that takes the quotes off again, as %~1 does, has cmd.exe
// act on it: so one that holds a character cmd.exe acts on is refused with an
// error that wraps ErrInterpreted and names it.
func BatchCommandLine(comspec, script string, args []string) (string, error) {
	program, err := CommandLine([]string{comspec})
	if err != nil {
		return "", err
	}
	// Neither can be part of a file's name; both would end the quoting.
	if script == "" || strings.ContainsAny(script, "\"%\r\n") || strings.HasSuffix(script, `\`) {
		return "", ErrProgramName
	}
	var b strings.Builder
	b.WriteString(program + ` /d /v:off /s /c ""` + script + `"`)
	for n, arg := range args {
		if i := strings.IndexAny(arg, interpreted); i >= 0 {
			return "", fmt.Errorf("argument %d of a batch file, %.60q, holds %q: %w; start what the batch file starts, or hand it over in a file or a variable",
				n+1, arg, arg[i], ErrInterpreted)
		}
		// The quotes keep spaces, commas and equals signs in one word; for the
		// program that the script hands it on to, a backslash before the closing
		// one is doubled.
		plain := strings.TrimRight(arg, `\`)
		b.WriteString(` "` + arg + arg[len(plain):] + `"`)
	}
	b.WriteByte('"')
	return checked(b.String())
}
