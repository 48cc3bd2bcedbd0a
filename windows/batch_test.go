package windows

import (
	"errors"
	"strings"
	"testing"
)

func TestBatchCommandLine(t *testing.T) {
	const head = `cmd.exe /d /v:off /s /c ""C:\a b\x.cmd"`
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, head + `"`},
		{[]string{"a b", ""}, head + ` "a b" """`},
		{[]string{`--x=1,2;3`, `c\`, `\\h\s\\`}, head + ` "--x=1,2;3" "c\\" "\\h\s\\\\""`},
		{[]string{`ü 'x' $y #z *.?`}, head + ` "ü 'x' $y #z *.?""`},
	} {
		got, err := BatchCommandLine("cmd.exe", `C:\a b\x.cmd`, tt.args)
		if err != nil || got != tt.want {
			t.Errorf("args %q:\ngot  %s, %v\nwant %s", tt.args, got, err, tt.want)
		}
	}
	if _, err := BatchCommandLine("cmd.exe", `C:\x".cmd`, nil); !errors.Is(err, ErrProgramName) {
		t.Errorf("quote in the script's name: %v", err)
	}
}

// TestBatchRefuses: the error names the argument and the character.
func TestBatchRefuses(t *testing.T) {
	for _, bad := range []string{`& calc`, `"&calc`, `%PATH%`, `!x!`, `a^b`, `a|b`, `a<b`, `a>b`, "a\nb", "a\rb", `(a)`} {
		_, err := BatchCommandLine("cmd.exe", `C:\x.cmd`, []string{"fine", bad})
		if !errors.Is(err, ErrInterpreted) || !strings.Contains(err.Error(), "argument 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzBatchCommandLine: what is passed at all is inside quotes that nothing in
// it can close, and holds nothing that cmd.exe acts on.
func FuzzBatchCommandLine(f *testing.F) {
	for _, s := range []string{"", `"`, `""`, `a"&b`, `%PATH%`, `\`, `a\\`, `^"`, `!x!`, "ü\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		line, err := BatchCommandLine("cmd.exe", "x.cmd", []string{arg})
		if err != nil {
			if !strings.ContainsAny(arg, "\"%!^&|<>()\r\n\x00") && len(arg) < 1000 {
				t.Fatal(err)
			}
			return
		}
		body, ok := strings.CutPrefix(line, `cmd.exe /d /v:off /s /c ""x.cmd" "`)
		body, ends := strings.CutSuffix(body, `""`)
		if !ok || !ends || strings.ContainsAny(body, "\"%!^&|<>()\r\n") {
			t.Fatalf("%q gave %s", arg, line)
		}
		// A program takes it back as it was.
		if got := split(`x "` + body + `"`); len(got) != 2 || got[1] != arg {
			t.Fatalf("%q came back as %q", arg, got)
		}
	})
}
