//go:build unix

package runner

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that does not open keeps nobody from ending the run.
func TestStoppedSetup(t *testing.T) {
	for name, set := range map[string]func(o *Options, fifo string){
		"events":      func(o *Options, fifo string) { o.JSONL = fifo },
		"input":       func(o *Options, fifo string) { o.Input, o.InFile = InputFile, fifo },
		"environment": func(o *Options, fifo string) { o.Env.Files = []string{fifo} },
	} {
		t.Run(name, func(t *testing.T) {
			// One each: what was given up may hold its own for a moment longer.
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			o := helper(t, "exit", "0")
			o.JSONL = "" // what is given up may still make its file
			set(&o, fifo)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			end := Run(ctx, o)
			want(t, "code", end.Code, ExitCancelled)
			want(t, "source", end.Source, SourceCancelled)
			// Both ends at once let go of who still waits.
			f, err := os.OpenFile(fifo, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
}

// What is written of a run that was ended before its program was started.
func TestStoppedSetupEvents(t *testing.T) {
	o := helper(t, "exit", "0")
	stream, err := openStream(o.JSONL, SchemaVersion, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	r := &run{o: o, id: "a", stream: stream, started: make(chan struct{})}
	got := &result{Ending: r.notSetUp(stopped{"sigterm"})}
	got.read(t, o.JSONL)
	got.wantOrder(t, EventCancelled, EventRunnerExit)
	want(t, "source", got.event(t, EventCancelled)["source"], any("sigterm"))
}
