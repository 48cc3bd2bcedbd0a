package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that the run would empty and that is another of its files is refused,
// under whatever name, and holds what it held.
func TestFilesAreDistinct(t *testing.T) {
	for name, o := range map[string]Options{
		"--stdin-file":                 {JSONL: "kept", Input: InputFile, InFile: "link"},
		"--env-file":                   {JSONL: "kept", Env: Environment{Files: []string{"other", "kept"}}},
		"--capture-dir's stdout.log":   {JSONL: filepath.Join("logs", "stdout.log"), CaptureDir: "logs"},
		"--capture-dir's stderr.log: ": {CaptureDir: "logs", Input: InputFile, InFile: filepath.Join("logs", "stderr.log")},
		"standard output":              {JSONL: "kept", Stdout: openKept},
		"standard input":               {JSONL: "kept", Input: InputInherit, Stdin: openKept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("logs", 0o700); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"kept", "other", filepath.Join("logs", "stderr.log")} {
				if err := os.WriteFile(file, []byte("K=v\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("kept", "link"); err != nil {
				t.Skip(err)
			}
			kept, err := os.OpenFile("kept", os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			if o.Stdout != nil {
				o.Stdout = kept
			}
			if o.Stdin != nil {
				o.Stdin = kept
			}
			o.Argv, o.Env.Base = []string{"never"}, nil
			end := Run(t.Context(), o)
			if end.Source != SourceSetup || !strings.Contains(end.Message, name) {
				t.Errorf("%+v", end)
			}
			for _, file := range []string{"kept", filepath.Join("logs", "stderr.log")} {
				if b, err := os.ReadFile(file); err != nil || string(b) != "K=v\n" {
					t.Errorf("%s: %q, %v", file, b, err)
				}
			}
		})
	}
}

// openKept stands for the open file kept.
var openKept = new(os.File)

// What keeps nothing may be named twice.
func TestDeviceTwice(t *testing.T) {
	o := helper(t, "cat")
	o.JSONL, o.Input, o.InFile, o.Env.Files = os.DevNull, InputFile, os.DevNull, []string{os.DevNull}
	want(t, "code", Run(t.Context(), o).Code, 0)
}

// A line that no reader would take is not written: the event says less.
func TestLongEvents(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	labels := map[string]string{}
	for i := range 2000 {
		labels[fmt.Sprint("k", i)] = strings.Repeat("\u2028", 256)
	}
	members := make([]Member, 30000)
	started := RunStarted{RunID: "r", Labels: map[string]string{}, Mechanism: MechanismCgroupV2, AbruptCleanup: AbruptWholeTree, Command: Command{Argv: []string{long}}}
	labelled := started
	labelled.Labels = labels
	for left, e := range map[string]Event{
		"the arguments": started, "the labels": labelled, "members": MembersSnapshot{Reason: "interval", Members: members},
		"a part of the message": SpawnFailed{Code: ExitSpawn, Message: long},
	} {
		line, out, err := encodeShort(SchemaVersion, e)
		want(t, "left out", out, left)
		if err != nil || len(bytes.TrimSuffix(line, []byte("\n"))) > MaxLine || Validate(line) != nil {
			t.Errorf("%s: %d bytes, %v, %v", left, len(line), err, Validate(line))
		}
	}
	line, out, err := encodeShort(SchemaDetailed, RunStartedDetail{RunStarted: started})
	if err != nil || out == "" || bytes.Contains(line, []byte("xxx")) {
		t.Errorf("version 2: %d bytes, %q, %v", len(line), out, err)
	}
	line, out, err = encodeShort(SchemaVersion, RunnerExit{Source: SourceSetup})
	if err != nil || out != "" || Validate(line) != nil {
		t.Errorf("a short one: %s, %q, %v", line, out, err)
	}
}
