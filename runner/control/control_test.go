package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) { systest.Main(m) }

// fakeRun counts what is asked of it.
type fakeRun struct {
	cancelled, killed atomic.Int32
	members           []Member
	inside            bool
	unreadable        error
	hold              chan struct{} // Snapshot waits for it

	mu      sync.Mutex
	signals []string
	graces  []time.Duration
}

func (f *fakeRun) Snapshot() Snapshot {
	if f.hold != nil {
		<-f.hold
	}
	return Snapshot{Mechanism: "cgroup_v2", StartedAt: "2026-01-02T03:04:05.678Z", Members: f.members}
}
func (f *fakeRun) Contains(pid int) (bool, error) {
	return f.inside && pid == os.Getpid(), f.unreadable
}
func (f *fakeRun) Cancel() { f.cancelled.Add(1) }
func (f *fakeRun) Signal(_ context.Context, name string, grace *time.Duration) error {
	if name != "SIGUSR1" && name != "SIGTERM" {
		return errors.New("no such signal")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, name)
	if grace != nil {
		f.graces = append(f.graces, *grace)
	}
	return nil
}
func (f *fakeRun) Kill() { f.killed.Add(1) }

func serve(t *testing.T, f *fakeRun) *Server {
	t.Helper()
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	s, err := Listen("a run", f, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial is a peer that speaks the protocol by hand.
func dial(t *testing.T, name string) net.Conn {
	t.Helper()
	c, _, err := sys.DialEndpoint(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func say(t *testing.T, name, line string) string {
	t.Helper()
	c := dial(t, name)
	if _, err := c.Write([]byte(line)); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatalf("%.40q: %q %v", line, answer, err)
	}
	return answer
}

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

// liar listens like a runner and answers what it is told to.
func liar(t *testing.T, answer string) string {
	t.Helper()
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	ep, err := sys.ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ep.Close() })
	go func() {
		for {
			c, _, err := ep.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, answer)
			c.Close()
		}
	}()
	return ep.Name()
}

func TestBadAnswers(t *testing.T) {
	const snap = `{"snapshot_version":%d,"run_id":"%s","mechanism":"unknown","root_pid":null,"started_at":"x","jsonl":null,"capture_dir":null,"members":[]}` + "\n"
	for _, c := range []struct {
		answer string
		want   error
	}{
		{fmt.Sprintf(snap, 2, "a run"), nil},
		{fmt.Sprintf(snap, 1, "a run"), nil},
		{fmt.Sprintf(snap, 99, "a run"), ErrIncompatible},
		{fmt.Sprintf(snap, 0, "a run"), ErrIncompatible},
		{fmt.Sprintf(snap, 2, "another"), ErrIncompatible},
		{"", ErrUnreachable},
		{"{", ErrUnreachable},
		{"{\n", ErrIncompatible},
		{"[]\n", ErrIncompatible},
		{"{}{}\n", ErrIncompatible},
		{`{"error":"no\u001b[2Jway"}` + "\n", ErrRefused},
		{strings.Repeat("x", 4*maxLine), ErrIncompatible},
	} {
		s, err := Inspect(t.Context(), liar(t, c.answer), "a run")
		if !errors.Is(err, c.want) || err != nil && strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.60q: %+v %v", c.answer, s, err)
		}
	}
	for _, answer := range []string{
		`{"accepted":false,"action":"kill","run_id":"a run"}`,
		`{"accepted":true,"action":"cancel","run_id":"a run"}`,
		`{"accepted":true,"action":"kill","run_id":"another"}`,
	} {
		if a, err := Kill(t.Context(), liar(t, answer+"\n"), "a run", nil); !errors.Is(err, ErrIncompatible) {
			t.Errorf("%s: %+v %v", answer, a, err)
		}
	}
	for _, answer := range []string{
		`{"attestation_version":2,"run_id":"a run","verdict":"member","peer_pid":1}`,
		`{"attestation_version":1,"run_id":"a run","verdict":"yes","peer_pid":1}`,
		`{"attestation_version":1,"run_id":"a run","verdict":"member","peer_pid":null}`,
		`{"attestation_version":1,"run_id":"another","verdict":"member","peer_pid":1}`,
	} {
		if a, err := Attest(t.Context(), liar(t, answer+"\n"), "a run"); !errors.Is(err, ErrIncompatible) {
			t.Errorf("%s: %+v %v", answer, a, err)
		}
	}
}

// The verb is not sent when the caller is no longer sure.
func TestUnsure(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	unsure := errors.New("it is another run")
	if _, err := Kill(t.Context(), s.Endpoint(), "a run", func() error { return unsure }); !errors.Is(err, unsure) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if f.killed.Load() != 0 {
		t.Error("killed")
	}
}

func TestForeignEndpoint(t *testing.T) {
	for _, name := range []string{"", "/etc/passwd", "/tmp/x.sock", "relative"} {
		if _, err := Inspect(t.Context(), name, "a run"); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A caller that gives up is not kept by a run that does not answer.
func TestGiveUp(t *testing.T) {
	f := &fakeRun{hold: make(chan struct{})}
	s := serve(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := Inspect(ctx, s.Endpoint(), "a run"); done <- err }()
	f.hold <- struct{}{} // it has asked
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(f.hold)
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

// Who watches hears of every change, of many at once perhaps, and of the end.
func TestWatch(t *testing.T) {
	s := serve(t, &fakeRun{})
	w, err := Watch(t.Context(), s.Endpoint(), "a run")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	other, err := Watch(t.Context(), s.Endpoint(), "a run")
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	for range 3 {
		s.Changed()
		if err := w.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		s.Changed() // nobody takes them
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for heard := 0; w.Next() == nil; heard++ {
		if heard == 1000 {
			t.Fatal("more was told than happened")
		}
	}
	if _, err := Watch(t.Context(), s.Endpoint(), "a run"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("watched after the end: %v", err)
	}
}

// A watch of another run's endpoint is no watch.
func TestWatchAnother(t *testing.T) {
	s := serve(t, &fakeRun{})
	if _, err := Watch(t.Context(), s.Endpoint(), "another"); !errors.Is(err, ErrIncompatible) {
		t.Errorf("%v", err)
	}
}
