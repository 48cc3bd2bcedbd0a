package control

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestVerbs(t *testing.T) {
	f := &fakeRun{inside: true}
	s := serve(t, f)
	snap, err := Inspect(t.Context(), s.Endpoint(), "a run")
	if err != nil || snap.Version != 2 || snap.RunID != "a run" || snap.Mechanism != "cgroup_v2" || snap.Members == nil {
		t.Errorf("%+v %v", snap, err)
	}
	ack, err := Cancel(t.Context(), s.Endpoint(), "a run", func() error { return nil })
	if err != nil || ack != (Ack{true, "cancel", "a run"}) {
		t.Errorf("%+v %v", ack, err)
	}
	if ack, err = Kill(t.Context(), s.Endpoint(), "a run", nil); err != nil || ack != (Ack{true, "kill", "a run"}) {
		t.Errorf("%+v %v", ack, err)
	}
	a, err := Attest(t.Context(), s.Endpoint(), "a run")
	if err != nil || a.RunID != "a run" {
		t.Fatalf("%+v %v", a, err)
	}
	if a.Verdict != NoPeer && (a.Verdict != Inside || *a.PeerPID != os.Getpid()) {
		t.Errorf("%+v", a)
	}
	// The acknowledgement comes before the trigger, so that is waited for.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if f.cancelled.Load() != 1 || f.killed.Load() != 1 {
		t.Errorf("cancelled %d, killed %d", f.cancelled.Load(), f.killed.Load())
	}
	if _, err := Inspect(t.Context(), s.Endpoint(), "a run"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("after close: %v", err)
	}
}

func TestAttestOutsideAndUnreadable(t *testing.T) {
	s := serve(t, &fakeRun{})
	if a, err := Attest(t.Context(), s.Endpoint(), "a run"); err != nil || a.Verdict == Inside {
		t.Errorf("%+v %v", a, err)
	}
	s = serve(t, &fakeRun{unreadable: errors.New("no list")})
	if a, err := Attest(t.Context(), s.Endpoint(), "a run"); a.Verdict != NoPeer && !errors.Is(err, ErrRefused) {
		t.Errorf("%+v %v", a, err)
	}
}

// The keys of each answer are exactly those of the protocol.
func TestWire(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	for line, keys := range map[string]string{
		"\n":                                "capture_dir jsonl mechanism members root_pid run_id snapshot_version started_at",
		"inspect\r\n":                       "capture_dir jsonl mechanism members root_pid run_id snapshot_version started_at",
		"cancel\n":                          "accepted action run_id",
		"attest\n":                          "attestation_version checked_at mechanism peer_pid run_id verdict",
		"destroy\n":                         "error",
		"signal SIGUSR1\n":                  "accepted action run_id",
		"signal SIGTERM 250\n":              "accepted action run_id",
		"signal SIGTERM soon\n":             "error",
		"signal SIGTERM -1\n":               "error",
		"signal SIGNOT\n":                   "error",
		"signal\n":                          "error",
		strings.Repeat("x", maxLine) + "\n": "error",
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(say(t, s.Endpoint(), line)), &m); err != nil {
			t.Fatal(err)
		}
		for _, k := range strings.Fields(keys) {
			if _, ok := m[k]; !ok {
				t.Errorf("%.20q: %s is missing", line, k)
			}
		}
		if len(m) != len(strings.Fields(keys)) {
			t.Errorf("%.20q: %v", line, m)
		}
	}
	if f.killed.Load() != 0 {
		t.Error("killed unasked")
	}
}

// A snapshot that does not fit a line is refused, never cut.
func TestLongSnapshot(t *testing.T) {
	f := &fakeRun{members: make([]Member, maxLine/20)}
	s := serve(t, f)
	if _, err := Inspect(t.Context(), s.Endpoint(), "a run"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "longer than a line") {
		t.Errorf("%v", err)
	}
}

// Peers that say nothing, or half a verb, cost nobody else anything, and Close
// does not wait for them.
func TestSilentPeers(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	for range peers - 1 {
		dial(t, s.Endpoint())
	}
	half := dial(t, s.Endpoint())
	_ = half
	over := dial(t, s.Endpoint()) // more than are answered at once: it waits to be accepted
	_ = over
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > serverDeadline {
		t.Errorf("closing took %v", took)
	}
	if f.killed.Load()+f.cancelled.Load() != 0 {
		t.Error("ended unasked")
	}
}

// An answer that was begun is finished before Close returns.
func TestCloseFinishesAnswers(t *testing.T) {
	f := &fakeRun{hold: make(chan struct{})}
	s := serve(t, f)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Inspect(t.Context(), s.Endpoint(), "a run"); err != nil && !errors.Is(err, ErrUnreachable) {
				t.Error(err)
			}
		})
	}
	c := dial(t, s.Endpoint())
	if _, err := c.Write([]byte("inspect\n")); err != nil {
		t.Fatal(err)
	}
	f.hold <- struct{}{} // one answer is being made
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	close(f.hold)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	all.Wait()
}

func FuzzConverse(f *testing.F) {
	for _, line := range []string{"inspect\n", "\n", "kill\n", "cancel\r\n", "attest\n", "x", strings.Repeat("k", maxLine+1) + "\n", "kill", "\x00\n"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := readLine(strings.NewReader(string(data)))
		if err == nil && (len(line) >= maxLine || strings.Contains(line, "\n")) {
			t.Fatalf("%q", line)
		}
		var s Snapshot
		if err := decode(data, &s); err != nil && !errors.Is(err, ErrIncompatible) && !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
	})
}

// A signal is sent as it was asked for, with a grace or without.
func TestSignal(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	if err := Signal(t.Context(), s.Endpoint(), "a run", "SIGUSR1", -1); err != nil {
		t.Error(err)
	}
	if err := Signal(t.Context(), s.Endpoint(), "a run", "SIGTERM", 1500*time.Millisecond); err != nil {
		t.Error(err)
	}
	if err := Signal(t.Context(), s.Endpoint(), "a run", "SIGNOT", 0); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if !slices.Equal(f.signals, []string{"SIGUSR1", "SIGTERM"}) || !slices.Equal(f.graces, []time.Duration{1500 * time.Millisecond}) {
		t.Errorf("%v %v", f.signals, f.graces)
	}
}
