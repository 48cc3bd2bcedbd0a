package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refused wants a command line of the verb run to be none: its program is not
// started, no stream is made, and what is said has these words.
func refused(t *testing.T, words string, flags ...string) {
	t.Helper()
	dir := t.TempDir()
	stream, marker := filepath.Join(dir, "events"), filepath.Join(dir, "started")
	args := append([]string{"run", "--jsonl", stream}, flags...)
	status, stdout, stderr := inProcess(t, append(args, "--", "touch", marker)...)
	if status != exitUsage || stdout != "" || !strings.Contains(stderr, words) {
		t.Errorf("%q ended with status %d and said %q, want %q", flags, status, stderr, words)
	}
	for _, path := range []string{stream, marker} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q made %s: %v", flags, filepath.Base(path), err)
		}
	}
}

func TestBadValues(t *testing.T) {
	for name, values := range map[string][]string{
		"timeout":           {"0", "0ms", "-1", "1.5s", "5x", "", " 5", "99999999999999999999h"},
		"idle-timeout":      {"0", "0h", "5x"},
		"snapshot-interval": {"0", "0s", "-1"},
		"grace":             {"-1", "5x", ""},
		"max-memory":        {"0", "5x", "99999999999g"},
		"max-processes":     {"0", "4294967296"},
		"cpu-quota":         {"0", "-1", "nan", "inf"},
		"schema":            {"0", "3", "one"},
		"contain":           {"", "some"},
		"label":             {"", "a", "9=x", "a=\u202e"},
		"env":               {"", "A", "=x"},
		"env-remove":        {"", "A=B", "BAD KEY"},
		"env-file":          {""},
		"run-id-env":        {"", "A=B"},
		"cwd":               {""},
		"capture-dir":       {""},
		"stdin-file":        {""},
	} {
		for _, value := range values {
			refused(t, "--"+name+": ", "--"+name+"="+value)
		}
	}
	for _, value := range []string{"0", "5x"} {
		refused(t, "--capture-max-bytes: ", "--capture-dir", "logs", "--capture-max-bytes", value)
	}
	refused(t, "--capture-overflow: ", "--capture-dir", "logs", "--capture-overflow", "stop")
}

// What is no run id for one verb is none for any.
func TestBadRunIDs(t *testing.T) {
	verbs := [][]string{{"inspect"}, {"cancel"}, {"kill"}, {"attest"}, {"wait"}, {"events"}}
	for _, id := range []string{"", strings.Repeat("a", 257), "a\nb", "a\u202eb", "a\u200bb"} {
		refused(t, "--run-id: ", "--run-id", id)
		for _, verb := range verbs {
			status, stdout, stderr := inProcess(t, append(verb, "--run-id", id)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "belfry: --run-id: ") {
				t.Errorf("%s %q ended with status %d and said %q", verb[0], id, status, stderr)
			}
		}
	}
}

func TestOptionsThatExclude(t *testing.T) {
	values := map[string]string{"idle-timeout": "5s", "capture-dir": "logs", "stdin-file": "in"}
	flag := func(name string) string {
		if v, ok := values[name]; ok {
			return "--" + name + "=" + v
		}
		return "--" + name
	}
	pairs := map[string][]string{
		"inherit-stdio":               {"capture-dir", "create-no-window", "idle-timeout", "inherit-stdin", "stdin-file", "no-echo", "detach", "pty"},
		"inherit-stdin":               {"stdin-file", "detach"},
		"windows-graceful-ctrl-break": {"create-no-window", "detach"},
	}
	for a, others := range pairs {
		for _, b := range others {
			refused(t, "exclude each other", flag(a), flag(b))
			refused(t, "exclude each other", flag(b), flag(a))
		}
	}
	refused(t, "--capture-max-bytes needs --capture-dir", "--capture-max-bytes", "1k")
	for _, policy := range []string{"truncate", "cancel"} {
		refused(t, "--capture-overflow needs --capture-dir", "--capture-overflow", policy)
	}
	refused(t, "both set ID", "--run-id-env", "ID", "--env", "ID=x")
	refused(t, "both set ID", "--env", "ID=x", "--run-id-env", "ID")
}

func TestGivenTwice(t *testing.T) {
	for _, option := range []string{"timeout=5s", "grace=1s", "run-id=a", "jsonl=b", "max-memory=1g", "stdin-file=in"} {
		refused(t, "is given twice", "--"+option, "--"+option)
	}
	for _, option := range []string{"detach", "no-echo", "env-clear"} {
		refused(t, "is given twice", "--"+option, "--"+option)
	}
}
