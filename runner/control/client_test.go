package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

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
