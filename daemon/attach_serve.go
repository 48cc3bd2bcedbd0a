package daemon

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// attach takes a lease, or for roleControl none, and with an Upgrade turns the
// connection into a stream. The lease is taken before the answer: whoever sees
// it is attached.
func (s *server) attach(w http.ResponseWriter, r *http.Request) {
	upgrade := r.Header.Get("Upgrade") == upgradeToken && strings.EqualFold(r.Header.Get("Connection"), "upgrade")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	c := Client{ID: rand.Text()[:12], Role: r.Header.Get(roleHeader), PID: peerOf(r), Since: time.Now().UTC()}
	var l *lease
	if !upgrade || c.Role != roleControl {
		if c.Role == "" {
			c.Role = "client"
		}
		if l = s.gate.admit(c); l == nil {
			unavailable(w)
			return
		}
		defer l.leave()
	}
	if !upgrade {
		s.holdPlain(w, r)
		return
	}
	raw, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot become a stream", http.StatusInternalServerError)
		return
	}
	defer raw.Close()
	// What the client sent behind its request is in the server's reader, which
	// takes any failed read, a deadline's too, for the end of the request.
	behind, _ := rw.Reader.Peek(rw.Reader.Buffered())
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(behind)), raw), 64<<10)
	if err := s.upgraded(r.Context(), raw, in, l, c); err != nil {
		s.log.Debug("a client left", "client", c.ID, "role", c.Role, "error", err)
	}
}

// holdPlain is the lease of a client that knows no streams: an answer that
// does not end.
func (s *server) holdPlain(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write([]byte{0}); err != nil {
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-s.drain.begun:
	}
}

// peerOf is the process at the other end as the kernel told it, or 0.
func peerOf(r *http.Request) int {
	if p, ok := r.Context().Value(connKey{}).(*peerConn); ok {
		return p.pid
	}
	return 0
}

// upgraded says hello both ways and serves the stream.
func (s *server) upgraded(ctx context.Context, conn net.Conn, r *bufio.Reader, l *lease, c Client) error {
	// The server's own deadlines may still be set.
	if err := conn.SetDeadline(time.Now().Add(headerLimit)); err != nil {
		return err
	}
	h := s.hello
	h.Uptime = time.Since(h.StartTime)
	h.State, h.Clients, h.Busy = s.gate.look(l)
	if l != nil {
		h.Session = c.ID
	} else if s.cfg.Report != nil {
		b, err := json.Marshal(s.cfg.Report())
		if err != nil {
			return err
		}
		h.App = b
	}
	var answer bytes.Buffer
	answer.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + upgradeToken + "\r\n\r\n")
	if err := writeMessage(&answer, h); err != nil {
		return err
	}
	if _, err := conn.Write(answer.Bytes()); err != nil {
		return err
	}
	var g greeting
	if err := readMessage(r, &g); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if l == nil {
		return s.control(conn, r, g)
	}
	if c.PID == 0 {
		c.PID = g.PID
	}
	c.Meta = g.Meta
	l.know(c)
	s.stream(ctx, conn, r, c)
	return nil
}

// control obeys a command and then keeps the connection, whose end tells the
// client that we are gone.
func (s *server) control(conn net.Conn, r *bufio.Reader, g greeting) error {
	s.controls.add(conn)
	defer s.controls.drop(conn)
	out := outcome{Done: true}
	switch {
	case g.Op == "":
	case g.Generation != "" && g.Generation != s.hello.Generation:
		out = outcome{Error: "another daemon was meant"}
	case g.Op == opStop:
		s.begin("a client asked for it")
	case g.Op == opReplace:
		if out.Done = s.gate.quietNow(); out.Done {
			s.tell("a newer build takes over")
		} else {
			out.Error = "somebody is attached, or there is work"
		}
	default:
		out = outcome{Error: "no such command"}
	}
	if g.Op != "" {
		if err := writeMessage(conn, out); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, r)
	return err
}

// stream hands the connection to the application, or without one keeps it.
func (s *server) stream(ctx context.Context, conn net.Conn, r *bufio.Reader, c Client) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = context.WithValue(context.WithValue(ctx, clientKey{}, c), drainKey{}, s.drain)
	sc := newStreamConn(conn, r, s.drain, cancel)
	defer sc.Close()
	if s.cfg.Stream == nil {
		// Best effort: whatever ends the reading, the lease is over.
		_, _ = io.Copy(io.Discard, sc)
		return
	}
	s.cfg.Stream(ctx, sc)
	sc.bye()
}

// controls are the connections that outlive everything else, so that their end
// is ours.
type controls struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
}

func (c *controls) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		conn.Close()
		return
	}
	if c.conns == nil {
		c.conns = map[net.Conn]struct{}{}
	}
	c.conns[conn] = struct{}{}
}

func (c *controls) drop(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}

func (c *controls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for conn := range c.conns {
		conn.Close()
	}
}
