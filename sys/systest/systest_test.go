package systest_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) {
	systest.Register("shout", func(args []string) int {
		os.Stdout.WriteString(strings.ToUpper(strings.Join(args, " ")))
		return len(args)
	})
	systest.Main(m)
}

func command(name string, args ...string) *exec.Cmd {
	path, argv, env := systest.Command(name, args...)
	return &exec.Cmd{Path: path, Args: argv, Env: env}
}

// TestHelpers uses every helper that ends by itself.
func TestHelpers(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		in   string
		out  string
		code int
		unix bool
	}{
		{"shout", []string{"a", "b"}, "", "A B", 2, false},
		{"exit", []string{"17"}, "", "", 17, false},
		{"sleep", []string{"0"}, "", "", 0, false},
		{"spam", []string{"3"}, "", "0 \n1 \n2 \n", 0, false},
		{"spam", []string{"2", "8"}, "", "0 xxxxx\n1 xxxxx\n", 0, false},
		{"long-line", []string{"10"}, "", "0 xxxxxxx\n", 0, false},
		{"crlf", []string{"2"}, "", "0 \r\n1 \r\n", 0, false},
		{"no-newline", []string{"x"}, "", "x", 0, false},
		{"both", []string{"1"}, "", "out 0\n", 0, false},
		{"echo", []string{"a", "", "b c"}, "", "a\n\nb c\n", 0, false},
		{"cat", nil, "in\n", "in\n", 0, false},
		{"die-by", []string{"9"}, "", "", -1, true},
	} {
		if c.unix && runtime.GOOS == "windows" {
			continue
		}
		cmd := command(c.name, c.args...)
		cmd.Stdin = strings.NewReader(c.in)
		out, _ := cmd.Output()
		if string(out) != c.out || cmd.ProcessState.ExitCode() != c.code {
			t.Errorf("%s %q: %q, status %d", c.name, c.args, out, cmd.ProcessState.ExitCode())
		}
	}
}

func TestEnv(t *testing.T) {
	cmd := command("env", "A", "B")
	cmd.Env = append(cmd.Env, "A=1", "C=3")
	if out, err := cmd.Output(); err != nil || string(out) != "A=1\n" {
		t.Errorf("%q %v", out, err)
	}
}

// TestUnknown: a name that nobody registered is a mistake of the test.
func TestUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	systest.Command("no-such-helper")
}
