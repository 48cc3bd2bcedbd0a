package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/google/go-cmp/cmp"
)

// The daemon keeps of its starter's environment what it needs, and no secret.
func TestDaemonEnv(t *testing.T) {
	got := daemonEnv([]string{"PATH=/bin", "SECRET=x", "BELFRY_X=1", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "PATHETIC=1", "HOME=/h", "AWS_KEY=k", "CLAUDE_CODE_MESSAGING_TOKEN=t"})
	want := []string{"PATH=/bin", "BELFRY_X=1", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "HOME=/h"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestScopeName(t *testing.T) {
	a, b := scopeName("user"), scopeName("attic")
	if a == b || len(a) != 8 || len(b) != 8 || a != scopeName("user") {
		t.Errorf("%s and %s", a, b)
	}
}

// What a client's jobs start from reaches the daemon as it was.
func TestSurroundingsTravel(t *testing.T) {
	env := map[string]string{"PATH": "/p", "HOME": "/h", "BELFRY_CWD_ROOTS": "/r",
		"CLAUDE_CODE_MESSAGING_SOCKET": "/s", "CLAUDE_CODE_MESSAGING_TOKEN": "t"}
	a := &App{Env: func(k string) string { return env[k] }}
	sent := a.surroundings(job.PolicyFile{Path: "/policy", Origin: "--policy"})
	b, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var got surroundings
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Error(diff)
	}
	o := got.origin("c")
	if o.Client != "c" || o.Base.Path != "/p" || o.Base.Home != "/h" || !slices.Equal(o.Roots, []string{"/r"}) || o.Policy.Path != "/policy" || o.Dir == "" {
		t.Errorf("%+v", o)
	}
	if len(got.hosts()) != 1 {
		t.Error("the door to the host was lost")
	}
	env["BELFRY_DISABLE_CLAUDE_MESSAGING_WAKE"] = "1"
	if s := a.surroundings(job.PolicyFile{}); s.hosts() != nil {
		t.Error("a door that is to be left alone travels")
	}
}

func TestDaemonFailures(t *testing.T) {
	v := &daemonVerb{a: &App{}, scope: "attic"}
	for _, c := range []struct {
		err    error
		status int
		code   string
		hint   string
	}{
		{&daemon.HeldError{}, exitHeld, "held", "release --scope attic"},
		{&daemon.CooldownError{}, exitCooling, "cooling_down", "restart"},
		{&daemon.StartError{Exited: true, Exit: sys.Exit{Code: 7}}, exitStartFailed, "start_failed", ""},
		{&daemon.StartError{Err: daemon.ErrStartTimeout}, exitStartFailed, "timeout", ""},
		{&daemon.AlreadyRunningError{}, exitBeside, "already_running", ""},
		{&daemon.UnresponsiveError{ID: sys.ID{PID: 5}}, exitUnresponsive, "unresponsive", "--force"},
		{errors.Join(daemon.ErrUnavailable, sys.ErrUnsafeDir), exitUnavailable, "unsafe_directory", ""},
		{errors.Join(daemon.ErrUnavailable, &fs.PathError{Op: "connect", Path: "/x", Err: syscall.EACCES}), exitUnavailable, "permission_denied", ""},
		{errors.Join(daemon.ErrUnavailable, syscall.ENAMETOOLONG), exitUnavailable, "path_too_long", ""},
		{daemon.ErrUnavailable, exitUnavailable, "unavailable", ""},
	} {
		status, hint, f := v.sort(c.err)
		if status != c.status || f.Code != c.code || !strings.Contains(hint, c.hint) || f.Message == "" {
			t.Errorf("%v: %d %+v %q", c.err, status, f, hint)
		}
	}
	_, _, f := v.sort(&daemon.StartError{Exited: true, Exit: sys.Exit{Code: 7}, Log: []string{"a"}})
	if f.Detail["exit_status"] != 7 || f.Detail["log_tail"] == nil {
		t.Errorf("%+v", f.Detail)
	}
}
