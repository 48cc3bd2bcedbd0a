package control

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

// signal reads the words of the verb and sends the signal.
func (s *Server) signal(words string) []byte {
	name, after, timed := strings.Cut(words, " ")
	var grace *time.Duration
	if timed {
		ms, err := strconv.ParseUint(after, 10, 31)
		if err != nil {
			return encode(refusal{Error: "the grace is not a number of milliseconds"})
		}
		d := time.Duration(ms) * time.Millisecond
		grace = &d
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverDeadline)
	defer cancel()
	if err := s.h.Signal(ctx, name, grace); err != nil {
		return encode(refusal{Error: err.Error()})
	}
	return encode(Ack{Accepted: true, Action: verbSignal, RunID: s.runID})
}

// Changed tells all who watch that there is something new to see. It never
// waits for them: one that has not taken the last change yet finds this one too.
func (s *Server) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.watch {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// tellChanges writes an empty line for each change, until the peer is gone or
// the server is closed.
func (s *Server) tellChanges(c net.Conn) {
	if !s.mayLast(c) {
		return
	}
	defer func() { <-s.long }()
	changes := make(chan struct{}, 1)
	s.mu.Lock()
	s.watch[changes] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watch, changes)
		s.mu.Unlock()
	}()
	if _, err := c.Write(encode(Ack{Accepted: true, Action: verbWatch, RunID: s.runID})); err != nil {
		return
	}
	if c.SetDeadline(time.Time{}) != nil || !s.rests(c) {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		// It has nothing more to say: what comes is its end, or ours.
		_, _ = c.Read(make([]byte, 1))
	}()
	for {
		select {
		case <-changes:
			if _, err := c.Write([]byte{'\n'}); err != nil {
				return
			}
		case <-gone:
			return
		}
	}
}

// rests says that the answer on a connection is written and Close may cut it.
func (s *Server) rests(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c].busy = false
	return !s.closed
}

// Signal sends a signal to the tree of a run: see Handler.Signal. A grace below
// 0 is the run's own.
func Signal(ctx context.Context, endpoint, runID, name string, grace time.Duration) error {
	verb := verbSignal + " " + name
	if grace >= 0 {
		verb += " " + strconv.FormatInt(grace.Milliseconds(), 10)
	}
	var a Ack
	if err := ask(ctx, endpoint, verb, nil, &a); err != nil {
		return err
	}
	return accepted(a, verbSignal, runID)
}

func accepted(a Ack, verb, runID string) error {
	if err := sameRun(a.RunID, runID); err != nil {
		return err
	}
	if !a.Accepted || a.Action != verb {
		return fmt.Errorf("%w: it did not accept %s", ErrIncompatible, verb)
	}
	return nil
}

// Watching is told of the changes of one run.
type Watching struct {
	c net.Conn
	r *bufio.Reader
}

// Watch begins to watch a run: what changes from now on is told.
func Watch(ctx context.Context, endpoint, runID string) (*Watching, error) {
	c, _, err := dialRun(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	w := &Watching{c: c, r: bufio.NewReader(c)}
	var a Ack
	err = c.SetDeadline(time.Now().Add(clientDeadline))
	if err == nil {
		_, err = c.Write([]byte(verbWatch + "\n"))
	}
	var line []byte
	if err == nil {
		line, err = w.r.ReadSlice('\n')
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		c.Close()
		return nil, broken(ctx, err)
	}
	if err = decode(line, &a); err == nil {
		err = accepted(a, verbWatch, runID)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return w, nil
}

// Next waits for a change; those that came since the last one are one. The error
// says that the run tells no more: it is over, or Close was called.
func (w *Watching) Next() error {
	if _, err := w.r.ReadByte(); err != nil {
		return err
	}
	_, err := w.r.Discard(w.r.Buffered())
	return err
}

// Close ends the watch, at any time.
func (w *Watching) Close() error { return w.c.Close() }

func dialRun(ctx context.Context, endpoint string) (net.Conn, sys.Peer, error) {
	if !sys.IsTempEndpoint(endpoint) {
		return nil, sys.Peer{}, fmt.Errorf("%w: %q is no endpoint of a runner", ErrUnreachable, value.Human(endpoint))
	}
	dialling, cancel := context.WithTimeout(ctx, connectDeadline)
	defer cancel()
	c, peer, err := sys.DialEndpoint(dialling, endpoint)
	if err != nil {
		return nil, sys.Peer{}, broken(ctx, err)
	}
	return c, peer, nil
}
