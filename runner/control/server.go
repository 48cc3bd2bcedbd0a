package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// serverDeadline bounds one conversation on the runner's side, but for streams;
// lastWords is what is left of any when the server closes.
const (
	serverDeadline = 5 * time.Second
	lastWords      = time.Second
)

// peers bounds how many conversations go on at once; one more takes the place of
// whoever has been silent longest, or waits while all are answered. Of these,
// streams may be such as last: who reads them slowly, or never, leaves room for
// the others.
const (
	peers   = 256
	streams = 192
)

// Handler is the run that is controlled. Its methods are called at any time
// between Listen and Close, by many goroutines at once, before the program was
// started as well as while it is torn down, and return soon.
type Handler interface {
	// Snapshot tells what the run is now. Version and RunID are filled in.
	Snapshot() Snapshot
	// Contains reports whether a process is a member of the tree.
	Contains(pid int) (bool, error)
	// Cancel begins the graceful end and Kill the hard one. A run whose end was
	// decided keeps its first cause; a kill then still ends the grace.
	Cancel()
	Kill()
	// Signal sends one signal to the tree, by its name; SIGTERM is the graceful
	// end with a grace of its own, unless that is nil, and SIGKILL the hard one.
	// It returns when the signal was delivered.
	Signal(ctx context.Context, name string, grace *time.Duration) error
}

// Server answers for one run, or for one server of jobs.
type Server struct {
	runID string
	h     Handler // nil: there is no run
	desk  Desk    // nil: there are no jobs
	ep    *sys.Endpoint
	slots chan struct{}
	long  chan struct{} // slots of streams

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu     sync.Mutex
	conns  map[net.Conn]*caller
	turn   uint64                     // of who came last
	watch  map[chan struct{}]struct{} // who is told of changes
	closed bool
	done   sync.WaitGroup
}

// caller is where one conversation stands.
type caller struct {
	turn  uint64 // greater than that of all who came before
	asked bool   // its line was read
	busy  bool   // its answer is being made: Close waits for it
}

// Listen opens an endpoint of its own and answers there until Close: for a run
// with h, for jobs with desk. One of them may be nil.
func Listen(runID string, h Handler, desk Desk) (*Server, error) {
	ep, err := sys.ListenTemp()
	if err != nil {
		return nil, fmt.Errorf("open control endpoint: %w", err)
	}
	s := &Server{
		runID: runID,
		h:     h,
		desk:  desk,
		ep:    ep,
		slots: make(chan struct{}, peers),
		long:  make(chan struct{}, streams),
		conns: map[net.Conn]*caller{},
		watch: map[chan struct{}]struct{}{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	go s.accept() // ends with the endpoint; nobody need wait for that
	return s, nil
}

// Endpoint is the address, as it belongs into the run's record.
func (s *Server) Endpoint() string { return s.ep.Name() }

// Close removes the endpoint and returns when every answer that was begun has
// been written, or was not read for a second; peers that have not asked yet are
// let go. It is called once the last event is written.
func (s *Server) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	for c, at := range s.conns {
		if !at.busy {
			c.Close()
			continue
		}
		_ = c.SetWriteDeadline(time.Now().Add(lastWords)) // Best effort: it is gone then.
	}
	s.mu.Unlock()
	// What is over has its last words soon; what lasts is not waited for.
	late := time.AfterFunc(lastWords, s.stop)
	var err error
	if !again {
		err = s.ep.Close()
	}
	s.done.Wait()
	late.Stop()
	s.stop()
	return err
}

func (s *Server) accept() {
	for {
		c, peer, err := s.ep.Accept()
		if err != nil {
			if !temporary(err) {
				return
			}
			continue
		}
		s.takeSlot()
		if !s.enter(c) {
			<-s.slots
			continue
		}
		go func() {
			defer s.done.Done()
			defer func() { <-s.slots }()
			defer s.leave(c)
			s.converse(c, peer)
		}()
	}
}

// takeSlot makes room for one more where there is none: whoever connects and says
// nothing keeps nobody from asking.
func (s *Server) takeSlot() {
	select {
	case s.slots <- struct{}{}:
	default:
		s.dismiss()
		s.slots <- struct{}{} // soon: who was dismissed leaves, and answers have a deadline
	}
}

// dismiss lets the peer go that has been silent longest, if any is.
func (s *Server) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first net.Conn
	for c, at := range s.conns {
		if !at.asked && (first == nil || at.turn < s.conns[first].turn) {
			first = c
		}
	}
	if first != nil {
		delete(s.conns, first)
		first.Close()
	}
}

// temporary reports an error of accept after which another may succeed: the
// peer gave up, or this process is short of descriptors.
func temporary(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	// The next accept waits for a peer; a shortage must not become a busy loop.
	<-time.After(10 * time.Millisecond)
	return true
}

func (s *Server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.turn++
	s.conns[c] = &caller{turn: s.turn}
	s.done.Add(1)
	return true
}

// answering reports whether the peer may still be answered, and keeps Close and
// who comes later from cutting the answer.
func (s *Server) answering(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.conns[c]
	if s.closed || at == nil {
		return false
	}
	at.asked, at.busy = true, true
	return true
}

func (s *Server) leave(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
}

// converse has one conversation. An error has nobody to be told to: the peer is
// gone, or did not speak in time.
func (s *Server) converse(c net.Conn, peer sys.Peer) {
	if c.SetDeadline(time.Now().Add(serverDeadline)) != nil {
		return
	}
	verb, err := readLine(c)
	if err != nil && !errors.Is(err, errLongLine) || !s.answering(c) {
		return
	}
	if err != nil {
		c.Write(encode(refusal{Error: err.Error()}))
		return
	}
	if verb, arg, _ := strings.Cut(verb, " "); s.desk != nil && (verb == verbJobs || verb == verbLogs || verb == verbStop) {
		s.atDesk(c, verb, arg)
		return
	}
	if s.h == nil {
		c.Write(encode(refusal{Error: "this is a server and no run: jobs, logs and stop are the verbs"}))
		return
	}
	verb, words, _ := strings.Cut(verb, " ")
	switch verb {
	case "", verbInspect:
		c.Write(encode(s.snapshot()))
	case verbCancel:
		s.end(c, verb, s.h.Cancel)
	case verbKill:
		s.end(c, verb, s.h.Kill)
	case verbAttest:
		c.Write(s.attest(peer))
	case verbSignal:
		c.Write(s.signal(words))
	case verbWatch:
		s.tellChanges(c)
	default:
		c.Write(encode(refusal{Error: "the verb is not known; inspect, cancel, kill, attest, signal and watch are"}))
	}
}

// end acknowledges before it triggers: the run's end may end this process. A
// peer that could not be told has not heard "accepted", and nothing happens.
func (s *Server) end(c net.Conn, action string, trigger func()) {
	if _, err := c.Write(encode(Ack{Accepted: true, Action: action, RunID: s.runID})); err == nil {
		trigger()
	}
}

func (s *Server) snapshot() Snapshot {
	v := s.h.Snapshot()
	v.Version, v.RunID = snapshotVersion, s.runID
	if v.Members == nil {
		v.Members = []Member{}
	}
	return v
}

func (s *Server) attest(peer sys.Peer) []byte {
	a := Attestation{
		Version:   attestVersion,
		RunID:     s.runID,
		Verdict:   NoPeer,
		Mechanism: s.h.Snapshot().Mechanism,
	}
	if peer.PID > 0 {
		inside, err := s.h.Contains(peer.PID)
		if err != nil {
			return encode(refusal{Error: "the members cannot be read: " + err.Error()})
		}
		a.PeerPID = &peer.PID
		a.Verdict = Outside
		if inside {
			a.Verdict = Inside
		}
	}
	a.CheckedAt = time.Now().UTC().Format(timeForm)
	return encode(a)
}

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

var errLongLine = fmt.Errorf("a line has at most %d bytes", maxLine)

// readLine reads one line, without its end, and nothing beyond the limit.
func readLine(r io.Reader) (string, error) {
	b := bufio.NewReader(io.LimitReader(r, maxLine+1))
	line, err := b.ReadString('\n')
	switch {
	case len(line) > maxLine:
		return "", errLongLine
	case err != nil:
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
