package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"
)

// atDesk answers jobs, logs and stop. What it writes after the first line waits
// for the peer as long as the peer is there.
func (s *Server) atDesk(c net.Conn, verb, arg string) {
	if verb == verbJobs {
		s.tellJobs(c)
		return
	}
	if !s.mayLast(c) {
		return
	}
	defer func() { <-s.long }()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if !s.unbound(c) {
		return
	}
	// A peer says nothing more: what can be read is its end.
	s.done.Go(func() {
		defer cancel()
		var b [1]byte
		for {
			if _, err := c.Read(b[:]); err != nil {
				return
			}
		}
	})
	var job Job
	var err error
	say := func(v any) error {
		_, err := c.Write(encodeUpTo(maxSaid, v))
		return err
	}
	if verb == verbLogs {
		var q LogsQuery
		if err = json.Unmarshal([]byte(arg), &q); err == nil {
			job, err = s.desk.Logs(ctx, q, func(x Said) error { return say(x) })
		}
	} else {
		var o StopOrder
		if err = json.Unmarshal([]byte(arg), &o); err == nil {
			job, err = s.desk.Stop(ctx, o, func() error { return say(Ack{Accepted: true, Action: verb, RunID: s.runID}) })
		}
	}
	switch {
	case err == nil:
		_ = say(last{job}) // Best effort: who is gone is not told.
	case errors.Is(err, ErrNoJob):
		_ = say(refusal{Error: err.Error(), Code: codeNoJob})
	default:
		_ = say(refusal{Error: err.Error()})
	}
}

// mayLast takes one of the slots for conversations that last, or tells the peer
// that there is none.
func (s *Server) mayLast(c net.Conn) bool {
	select {
	case s.long <- struct{}{}:
		return true
	default:
		c.Write(encode(refusal{Error: "too many peers read logs, watch or wait for the end of a job; ask again later"}))
		return false
	}
}

// unbound lifts the deadlines of a conversation that lasts, unless the server
// closes.
func (s *Server) unbound(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && c.SetDeadline(time.Time{}) == nil
}

func (s *Server) tellJobs(c net.Conn) {
	jobs, about := s.desk.Jobs(), s.desk.About()
	about.Version, about.RunID, about.Count = jobsVersion, s.runID, len(jobs)
	b := encode(about)
	for i := range jobs {
		b = append(b, encode(jobs[i])...)
		if len(b) < maxLine && i < len(jobs)-1 {
			continue
		}
		if c.SetWriteDeadline(time.Now().Add(serverDeadline)) != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
		b = b[:0]
	}
	if len(b) > 0 {
		c.Write(b)
	}
}
