package windows

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// split takes a command line apart by the documented rules of
// CommandLineToArgvW and the Microsoft C runtime (2008 and later).
func split(line string) []string {
	var argv []string
	rest := line
	// The program: up to the closing quote, or up to the first blank.
	if strings.HasPrefix(rest, `"`) {
		name, after, _ := strings.Cut(rest[1:], `"`)
		argv, rest = append(argv, name), after
	} else if i := strings.IndexAny(rest, " \t"); i >= 0 {
		argv, rest = append(argv, rest[:i]), rest[i:]
	} else {
		return []string{rest}
	}
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return argv
		}
		var arg strings.Builder
		quoted := false
	argument:
		for rest != "" {
			slashes := 0
			for strings.HasPrefix(rest, `\`) {
				slashes, rest = slashes+1, rest[1:]
			}
			if !strings.HasPrefix(rest, `"`) {
				arg.WriteString(strings.Repeat(`\`, slashes))
				if rest == "" || (!quoted && (rest[0] == ' ' || rest[0] == '\t')) {
					break argument
				}
				arg.WriteByte(rest[0])
				rest = rest[1:]
				continue
			}
			arg.WriteString(strings.Repeat(`\`, slashes/2))
			switch {
			case slashes%2 == 1:
				arg.WriteByte('"')
				rest = rest[1:]
			case quoted && strings.HasPrefix(rest, `""`):
				arg.WriteByte('"')
				rest = rest[2:]
			default:
				quoted = !quoted
				rest = rest[1:]
			}
		}
		argv = append(argv, arg.String())
	}
}

// TestSplit holds the reference to the published examples.
func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		`p "abc" d e`:      {"p", "abc", "d", "e"},
		`p a\\b d"e f"g h`: {"p", `a\\b`, "de fg", "h"},
		`p a\\\"b c d`:     {"p", `a\"b`, "c", "d"},
		`p a\\\\"b c" d e`: {"p", `a\\b c`, "d", "e"},
		`p a"b"" c d`:      {"p", `ab" c d`},
		`"c:\a b\" x`:      {`c:\a b\`, "x"},
		`p ""`:             {"p", ""},
	} {
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("split(%s) = %q, want %q", line, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{[]string{`c:\a\b.exe`}, `c:\a\b.exe`},
		{[]string{`c:\a b\c.exe`, "x"}, `"c:\a b\c.exe" x`},
		{[]string{"p", ""}, `p ""`},
		{[]string{"p", "a b", `c"d`}, `p "a b" "c\"d"`},
		{[]string{"p", `a\`, `a b\`}, `p a\ "a b\\"`},
		{[]string{"p", `\\server\share`, `\"`}, `p \\server\share "\\\""`},
		{[]string{"p", "%PATH%", "a&b"}, `p %PATH% a&b`},
	}
	for _, tt := range tests {
		got, err := CommandLine(tt.argv)
		if err != nil || got != tt.want {
			t.Errorf("CommandLine(%q) = %s, %v; want %s", tt.argv, got, err, tt.want)
		}
		if back := split(got); !slices.Equal(back, tt.argv) {
			t.Errorf("%s comes apart as %q, want %q", got, back, tt.argv)
		}
	}
}

func TestCommandLineRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxCommandLine-3)
	for _, tt := range []struct {
		argv []string
		want error
	}{
		{nil, ErrEmptyArgv},
		{[]string{`a"b`}, ErrProgramName},
		{[]string{"p", "a\x00b"}, ErrNul},
		{[]string{"p", long}, nil},
		{[]string{"p", long + "x"}, ErrTooLong},
		// Outside the basic plane a character is two units.
		{[]string{"p", strings.Repeat("😀", MaxCommandLine/2)}, ErrTooLong},
	} {
		if _, err := CommandLine(tt.argv); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("CommandLine(%.40q): %v, want %v", tt.argv, err, tt.want)
		}
	}
}

func TestShellCommandLine(t *testing.T) {
	got, err := ShellCommandLine(`C:\Windows\system32\cmd.exe`, `echo "a b" & dir`)
	if want := `C:\Windows\system32\cmd.exe /d /s /c "echo "a b" & dir"`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// FuzzCommandLine: whatever the arguments, they come back exactly.
func FuzzCommandLine(f *testing.F) {
	for _, s := range []string{"", "a", `a b`, `a\`, `a b\\`, `\"`, `""`, "a\tb\nc", `\\\"\\`, "ü\u2028"} {
		f.Add("prog", s, `x "`+s)
		f.Add(`c:\my prog`, s+s, s)
	}
	f.Fuzz(func(t *testing.T, program, a, b string) {
		argv := []string{program, a, b}
		line, err := CommandLine(argv)
		if err != nil {
			if !errors.Is(err, ErrNul) && !errors.Is(err, ErrProgramName) && !errors.Is(err, ErrTooLong) {
				t.Fatal(err)
			}
			return
		}
		if got := split(line); !slices.Equal(got, argv) {
			t.Fatalf("%q became %s and came back as %q", argv, line, got)
		}
	})
}
