package job

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	ok := func(f func(*Spec)) Spec {
		sp := Spec{Command: []string{"true"}}
		f(&sp)
		return sp
	}
	for _, tc := range []struct {
		name, argument string // "": accepted
		spec           Spec
	}{
		{"plain", "", Spec{Command: []string{"true"}}},
		{"no command", "command", Spec{}},
		{"empty program", "command", Spec{Command: []string{"", "x"}}},
		{"blank line", "command", Spec{Command: []string{"", " "}, Shell: true}},
		{"shell words", "", Spec{Command: []string{"", "true"}, Shell: true}},
		{"label of 64 characters", "", ok(func(s *Spec) { s.Label = ptr(strings.Repeat("😀", 64)) })},
		{"empty label", "", ok(func(s *Spec) { s.Label = ptr("") })},
		{"label of 65", "label", ok(func(s *Spec) { s.Label = ptr(strings.Repeat("x", 65)) })},
		{"label with newline", "label", ok(func(s *Spec) { s.Label = ptr("a\nb") })},
		{"label with DEL", "label", ok(func(s *Spec) { s.Label = ptr("a\x7fb") })},
		{"label with C1", "label", ok(func(s *Spec) { s.Label = ptr("a\u0085b") })},
		{"longest deadline", "", ok(func(s *Spec) { s.Deadline = 2147483647 * time.Millisecond })},
		{"longer deadline", "deadline_ms", ok(func(s *Spec) { s.Deadline = 2147483648 * time.Millisecond })},
		{"negative deadline", "deadline_ms", ok(func(s *Spec) { s.Deadline = -1 })},
		{"on_exit wait", "", ok(func(s *Spec) { s.OnExit = Wait })},
		{"on_exit odd", "on_exit", ok(func(s *Spec) { s.OnExit = "never" })},
		{"a floor", "", ok(func(s *Spec) { s.Contain = ContainStrict })},
		{"an odd floor", "contain", ok(func(s *Spec) { s.Contain = "best" })},
		{"limits", "", ok(func(s *Spec) { s.Limits = Limits{MemoryBytes: 1 << 53, Tasks: 1, CPUs: 0.01} })},
		{"negative memory", "limits.memory_bytes", ok(func(s *Spec) { s.Limits.MemoryBytes = -1 })},
		{"memory that JSON cannot tell", "limits.memory_bytes", ok(func(s *Spec) { s.Limits.MemoryBytes = 1<<53 + 1 })},
		{"negative tasks", "limits.tasks", ok(func(s *Spec) { s.Limits.Tasks = -1 })},
		{"no number of processors", "limits.cpus", ok(func(s *Spec) { s.Limits.CPUs = math.NaN() })},
		{"endless processors", "limits.cpus", ok(func(s *Spec) { s.Limits.CPUs = math.Inf(1) })},
		{"variable without name", "env.vars", ok(func(s *Spec) { s.Env.Vars = map[string]string{"": "x"} })},
		{"variable with =", "env.vars", ok(func(s *Spec) { s.Env.Vars = map[string]string{"A=B": "x"} })},
	} {
		err := tc.spec.Check()
		var ae *ArgumentError
		switch {
		case tc.argument == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.argument != "" && (!errors.As(err, &ae) || ae.Argument != tc.argument || !strings.Contains(err.Error(), tc.argument)):
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, tc := range []struct {
		want  string
		shell bool
		words []string
	}{
		{"sh", false, []string{"/bin/sh", "-c", "exit 0 # SECRET"}},
		{"echo", true, []string{"TOKEN=SECRET /bin/echo SECRET"}},
		{"(shell)", true, []string{"A=1 B=SECRET"}},
		{"make", true, []string{`"/usr/bin/make" all`}},
		{"=x", true, []string{"=x y"}},
		{"1A=x", true, []string{"1A=x y"}},
		{"ls", true, []string{"ls", "-l"}},
	} {
		sp := Spec{Command: tc.words, Shell: tc.shell}
		want(t, strings.Join(tc.words, " "), sp.summary(), tc.want)
	}
}

func TestEnvironment(t *testing.T) {
	base := Base{Path: "/opt/bin:/bin", Home: "/home/x"}
	for _, tc := range []struct {
		name string
		env  Env
		base Base
		want []string
		path string
	}{
		{"default", Env{}, base, []string{"HOME=/home/x", "PATH=/opt/bin:/bin"}, "/opt/bin:/bin"},
		{"no base", Env{}, Base{}, []string{"PATH=" + DefaultPath}, DefaultPath},
		{"merge", Env{Vars: map[string]string{"A": "", "HOME": "/y"}}, base, []string{"A=", "HOME=/y", "PATH=/opt/bin:/bin"}, "/opt/bin:/bin"},
		{"own PATH", Env{Vars: map[string]string{"PATH": "/x"}}, base, []string{"HOME=/home/x", "PATH=/x"}, "/x"},
		{"replace", Env{Replace: true, Vars: map[string]string{"ONLY": "this"}}, base, []string{"ONLY=this"}, ""},
		{"system", Env{Replace: true}, Base{System: []string{"SystemRoot=C:\\W"}}, []string{"SystemRoot=C:\\W"}, ""},
	} {
		got, path, has := tc.env.build(tc.base)
		if !slices.Equal(got, tc.want) || path != tc.path || has != (tc.path != "") {
			t.Errorf("%s: %q, PATH %q %v", tc.name, got, path, has)
		}
	}
}
