package windows

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// MaxCommandLine is the longest command line of CreateProcess in UTF-16 units,
// the closing NUL included.
const MaxCommandLine = 32767

// What a command line cannot carry.
var (
	ErrNul         = errors.New("a NUL character cannot be passed in an argument")
	ErrTooLong     = fmt.Errorf("the command line is longer than %d UTF-16 units", MaxCommandLine-1)
	ErrProgramName = errors.New("a quote cannot be passed in the program's name")
	ErrInterpreted = errors.New("cmd.exe takes it for more than text")
	ErrEmptyArgv   = errors.New("the argument list is empty")
)

// CommandLine joins arguments so that CommandLineToArgvW and the C runtime take
// them apart again into exactly argv. argv[0] follows the program's own rule:
// everything between two quotes, and backslashes mean nothing.
func CommandLine(argv []string) (string, error) {
	if len(argv) == 0 {
		return "", ErrEmptyArgv
	}
	if strings.ContainsRune(argv[0], '"') {
		return "", ErrProgramName
	}
	var b strings.Builder
	if argv[0] == "" || strings.ContainsAny(argv[0], " \t") {
		b.WriteString(`"` + argv[0] + `"`)
	} else {
		b.WriteString(argv[0])
	}
	for _, arg := range argv[1:] {
		b.WriteByte(' ')
		quote(&b, arg)
	}
	return checked(b.String())
}

// ShellCommandLine is the line that makes cmd.exe run a shell command line as
// it was written. cmd.exe does not take its arguments apart as programs do:
// with /s it removes the first and the last quote and runs what is between.
func ShellCommandLine(comspec, line string) (string, error) {
	program, err := CommandLine([]string{comspec})
	if err != nil {
		return "", err
	}
	return checked(program + ` /d /s /c "` + line + `"`)
}

// quote appends one argument. Backslashes are doubled only where a quote
// follows: elsewhere they are plain text.
func quote(b *strings.Builder, arg string) {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\v\"") {
		b.WriteString(arg)
		return
	}
	b.WriteByte('"')
	slashes := 0
	for i := range len(arg) {
		switch c := arg[i]; c {
		case '\\':
			slashes++
			b.WriteByte(c)
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			b.WriteByte(c)
			slashes = 0
		default:
			b.WriteByte(c)
			slashes = 0
		}
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
}

// checked refuses what CreateProcess would cut short or refuse without a reason.
func checked(line string) (string, error) {
	if strings.IndexByte(line, 0) >= 0 {
		return "", ErrNul
	}
	units := 1
	for _, r := range line {
		units += max(utf16.RuneLen(r), 1)
	}
	if units > MaxCommandLine {
		return "", ErrTooLong
	}
	return line, nil
}
