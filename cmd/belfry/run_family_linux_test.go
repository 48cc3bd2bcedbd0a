package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// family is a run whose program has children, one in a session of its own.
type family struct {
	q      quarters
	cmd    *exec.Cmd
	stream string
	pids   []int
}

// startFamily runs a shell script that prints its process ids on one line when
// all is ready. What the script needs of sleepers it starts with theirs.
func (q quarters) startFamily(script string, flags ...string) *family {
	q.t.Helper()
	f := &family{q: q, stream: filepath.Join(q.t.TempDir(), "events")}
	args := append([]string{"run", "--run-id", "family", "--jsonl", f.stream}, flags...)
	f.cmd = q.command(append(args, "--", "sh", "-c", "ulimit -c 0; "+script)...)
	// What this test ignores, as nohup and a shell's background have it, the run
	// would ignore as well; what is caught here is at its default there.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(caught)
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		q.t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		q.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		q.t.Fatalf("%q: %v", line, err)
	}
	for _, word := range strings.Fields(line) {
		var pid int
		if _, err := fmt.Sscan(word, &pid); err != nil {
			q.t.Fatalf("%q: %v", line, err)
		}
		f.pids = append(f.pids, pid)
	}
	return f
}

// sleepers starts two that hold no pipe; $a and $b are theirs.
const sleepers = `sleep 300 >/dev/null 2>&1 & a=$!; setsid sleep 300 >/dev/null 2>&1 & b=$!; `

func (f *family) signal(s syscall.Signal) {
	f.q.t.Helper()
	if err := f.cmd.Process.Signal(s); err != nil {
		f.q.t.Error(err)
	}
}

// told waits for an event in the stream.
func (f *family) told(event string) {
	f.q.t.Helper()
	awaited(f.q.t, event, func() bool {
		text, _ := os.ReadFile(f.stream)
		return strings.Contains(string(text), `"event":"`+event+`"`)
	})
}

// ended waits for the end, and wants this status, nobody left, a whole stream and
// nothing in the registry. It gives the events.
func (f *family) ended(status int) (events []map[string]any) {
	t := f.q.t
	t.Helper()
	_ = f.cmd.Wait() // its status is looked at
	if got := f.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("%v, want %d", f.cmd.ProcessState, status)
	}
	for _, pid := range f.pids {
		if lives(pid) {
			t.Errorf("process %d of %v outlives its run", pid, f.pids)
		}
	}
	f.q.verb("events", "--file", f.stream, "--validate")
	text, err := os.ReadFile(f.stream)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if last := events[len(events)-1]; last["event"] != "runner_exit" || last["code"] != float64(status) {
		t.Errorf("the stream ends with %v", last)
	}
	if left := f.q.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return events
}

func eventOf(t *testing.T, events []map[string]any, name string) map[string]any {
	t.Helper()
	i := slices.IndexFunc(events, func(e map[string]any) bool { return e["event"] == name })
	if i < 0 {
		t.Fatalf("no %s in %v", name, events)
	}
	return events[i]
}

// Each signal that asks a run to end is told by its name, and takes the tree along.
func TestSignalsEndTheTree(t *testing.T) {
	for s, source := range map[syscall.Signal]string{syscall.SIGTERM: "sigterm", syscall.SIGINT: "ctrl_c", syscall.SIGHUP: "sighup"} {
		f := newQuarters(t).startFamily(sleepers + "echo $$ $a $b; wait")
		f.signal(s)
		if e := eventOf(t, f.ended(107), "cancelled"); e["source"] != source {
			t.Errorf("%v is told as %v", s, e["source"])
		}
	}
}

// SIGQUIT is the program's, and its end is that of the tree.
func TestQuitIsHandedOn(t *testing.T) {
	f := newQuarters(t).startFamily(sleepers + "echo $$ $a $b; wait")
	f.signal(syscall.SIGQUIT)
	e := eventOf(t, f.ended(128+int(syscall.SIGQUIT)), "root_exited")
	if e["signal"] != float64(syscall.SIGQUIT) {
		t.Errorf("%v", e)
	}
}

// The same signal again does not wait for the grace.
func TestTerminatedTwice(t *testing.T) {
	f := newQuarters(t).startFamily(`trap "" TERM; `+sleepers+"echo $$ $a $b; while :; do sleep 1; done", "--grace", "1h")
	f.signal(syscall.SIGTERM)
	f.told("cancelled")
	f.signal(syscall.SIGTERM)
	if e := eventOf(t, f.ended(107), "cancelled"); e["grace_ms"] != 3600000.0 {
		t.Errorf("%v", e)
	}
}

// What a program leaves behind is ended after it, and changes nothing of its end:
// neither when it holds the output, nor when the clock of the run is over first.
func TestWhatIsLeftBehind(t *testing.T) {
	t.Parallel() // it waits for who may hold the output
	for what, script := range map[string]string{
		"hidden":           sleepers + "echo $a $b",
		"holds the output": "sleep 300 & a=$!; setsid sleep 300 & echo $a $!",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			q := newQuarters(t)
			events := q.startFamily(script, "--timeout", "2s").ended(0)
			if e := eventOf(t, events, "root_exited"); e["code"] != 0.0 {
				t.Errorf("%v", e)
			}
			if e := eventOf(t, events, "cleanup_started"); e["members_before"].(float64) < 1 {
				t.Errorf("%v", e)
			}
			if e := eventOf(t, events, "cleanup_finished"); e["remaining"] != 0.0 || e["kill_error"] != false {
				t.Errorf("%v", e)
			}
			if slices.ContainsFunc(events, func(e map[string]any) bool { return e["event"] == "timeout" }) {
				t.Error("the clock ended what had ended")
			}
		})
	}
}

// Who inspects a run is told of every member, by the keys of the protocol.
func TestInspectedFamily(t *testing.T) {
	q := newQuarters(t)
	f := q.startFamily(sleepers + "echo $$ $a $b; wait")
	var s map[string]json.RawMessage
	if err := json.Unmarshal([]byte(q.verb("inspect", "--run-id", "family", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"snapshot_version", "run_id", "mechanism", "root_pid", "started_at", "jsonl", "capture_dir", "members"} {
		if _, ok := s[key]; !ok {
			t.Errorf("no %s in %v", key, s)
		}
	}
	if len(s) != 8 || string(s["snapshot_version"]) != "2" || string(s["root_pid"]) != fmt.Sprint(f.pids[0]) {
		t.Errorf("%s", s)
	}
	var members []struct{ PID int }
	if err := json.Unmarshal(s["members"], &members); err != nil {
		t.Fatal(err)
	}
	for _, pid := range f.pids {
		if !slices.ContainsFunc(members, func(m struct{ PID int }) bool { return m.PID == pid }) {
			t.Errorf("%d of %v is not among %v", pid, f.pids, members)
		}
	}
	q.verb("kill", "--run-id", "family")
	f.ended(109)
}
