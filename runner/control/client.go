package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/belfry-dev/belfry/runner/value"
)

const (
	// connectDeadline and clientDeadline bound the two parts of a conversation
	// on the asking side.
	connectDeadline = 5 * time.Second
	clientDeadline  = 5 * time.Second
)

// Why a run gave no answer.
var (
	// ErrUnreachable: nobody answers at the endpoint, or what answered closed
	// without a word.
	ErrUnreachable = errors.New("the run cannot be reached")
	// ErrDeadline: the run took longer than 5 s.
	ErrDeadline = errors.New("the run or server did not answer in time")
	// ErrIncompatible: the answer is none that this version understands.
	ErrIncompatible = errors.New("the run answered in a way that is not understood")
	// ErrRefused: the run says that it cannot.
	ErrRefused = errors.New("the run refused")
)

// Inspect asks the run at an endpoint what it is now.
func Inspect(ctx context.Context, endpoint, runID string) (Snapshot, error) {
	var s Snapshot
	if err := ask(ctx, endpoint, verbInspect, nil, &s); err != nil {
		return Snapshot{}, err
	}
	if s.Version < 1 || s.Version > snapshotVersion {
		return Snapshot{}, fmt.Errorf("%w: its snapshot has version %d, and 1 to %d are known", ErrIncompatible, s.Version, snapshotVersion)
	}
	if err := sameRun(s.RunID, runID); err != nil {
		return Snapshot{}, err
	}
	if s.Members == nil {
		s.Members = []Member{}
	}
	return s, nil
}

// Cancel asks a run to end gracefully, and returns when it said that it will.
// sure, unless nil, is called once the connection stands and before the verb is
// sent; its error keeps the verb from being sent.
func Cancel(ctx context.Context, endpoint, runID string, sure func() error) (Ack, error) {
	return end(ctx, endpoint, runID, verbCancel, sure)
}

// Kill is Cancel without a grace.
func Kill(ctx context.Context, endpoint, runID string, sure func() error) (Ack, error) {
	return end(ctx, endpoint, runID, verbKill, sure)
}

func end(ctx context.Context, endpoint, runID, verb string, sure func() error) (Ack, error) {
	var a Ack
	if err := ask(ctx, endpoint, verb, sure, &a); err != nil {
		return Ack{}, err
	}
	if err := accepted(a, verb, runID); err != nil {
		return Ack{}, err
	}
	return a, nil
}

// Attest asks whether this process is a member of the run's tree.
func Attest(ctx context.Context, endpoint, runID string) (Attestation, error) {
	var a Attestation
	if err := ask(ctx, endpoint, verbAttest, nil, &a); err != nil {
		return Attestation{}, err
	}
	if err := sameRun(a.RunID, runID); err != nil {
		return Attestation{}, err
	}
	decided := a.Verdict == Inside || a.Verdict == Outside
	if a.Version != attestVersion || !decided && a.Verdict != NoPeer || decided != (a.PeerPID != nil) {
		return Attestation{}, fmt.Errorf("%w: attestation of version %d with verdict %q", ErrIncompatible, a.Version, value.Human(a.Verdict))
	}
	return a, nil
}

func sameRun(got, want string) error {
	if got != want {
		return fmt.Errorf("%w: it answered for run %q", ErrIncompatible, value.Human(got))
	}
	return nil
}

// ask has one conversation: a verb, one line back, decoded into answer.
func ask(ctx context.Context, endpoint, verb string, sure func() error, answer any) error {
	return speak(ctx, endpoint, verb, sure, func(c net.Conn) error {
		line, err := readLine(c)
		if err != nil {
			return broken(ctx, err)
		}
		return decode([]byte(line), answer)
	})
}

// speak connects, sends one line and has the answer heard, within the deadlines.
func speak(ctx context.Context, endpoint, line string, sure func() error, hear func(net.Conn) error) (err error) {
	c, peer, err := dialRun(ctx, endpoint)
	if err != nil {
		return err
	}
	defer c.Close()
	defer func() {
		if errors.Is(err, ErrDeadline) && peer.PID != 0 {
			err = fmt.Errorf("%w: process %d is stopped or hangs, or too many ask it; continue it, ask again, or end it and with it what it runs", err, peer.PID)
		}
	}()
	if sure != nil {
		if err := sure(); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	err = c.SetDeadline(time.Now().Add(clientDeadline))
	if err == nil {
		_, err = c.Write([]byte(line + "\n"))
	}
	if err != nil {
		return broken(ctx, err)
	}
	return hear(c)
}

// broken tells why there is no answer.
func broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return ErrDeadline
	case errors.Is(err, errLongLine):
		return fmt.Errorf("%w: %w", ErrIncompatible, err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it closed the connection without an answer", ErrUnreachable)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// decode reads the answer. Keys that are not known are passed over: the version
// in the answer tells what can be understood.
func decode(line []byte, answer any) error {
	var r refusal
	if json.Unmarshal(line, &r) == nil && r.Error != "" {
		if r.Code == codeNoJob {
			return ErrNoJob
		}
		return fmt.Errorf("%w: %s", ErrRefused, value.Reason(r.Error))
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(answer); err != nil || d.More() {
		return fmt.Errorf("%w: it is no JSON object of the expected form", ErrIncompatible)
	}
	return nil
}
