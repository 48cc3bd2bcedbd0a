package clienttest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const (
	modern        = "2026-07-28"
	metaVersion   = "io.modelcontextprotocol/protocolVersion"
	sessionHeader = "Mcp-Session-Id"
)

// bridge serves a stdio server over Streamable HTTP, for a suite that speaks
// nothing else. Requests of the modern revision share one server, since they
// have no session; each initialize starts a server of its own. What HTTP adds
// to the protocol (sessions, mirror headers, status codes) is the bridge's.
type bridge struct {
	t      *testing.T
	server string

	mu       sync.Mutex
	shared   *pipe
	sessions map[string]*pipe
}

// serveHTTP gives the address at which a server is bridged until the test ends.
func serveHTTP(t *testing.T, server string) string {
	p, err := openPipe(server, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{t: t, server: server, shared: p, sessions: map[string]*pipe{}}
	front := httptest.NewServer(b)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sessions["the modern one"] = b.shared
		for name, p := range b.sessions {
			if err := p.close(); err != nil {
				t.Errorf("the server of session %s: %v", name, err)
			}
		}
	})
	return front.URL + "/mcp"
}

// session finds the server of a request's session; ok is false for a session
// that there is not, and the pipe nil without one.
func (b *bridge) session(r *http.Request) (p *pipe, ok bool) {
	id := r.Header.Get(sessionHeader)
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok = b.sessions[id]
	if r.Method == http.MethodDelete {
		delete(b.sessions, id)
	}
	return p, ok || id == ""
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := b.session(r)
	switch {
	case !ok:
		http.Error(w, "no such session", http.StatusNotFound)
	case r.Method == http.MethodPost:
		b.post(w, r, p)
	case p == nil:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only with a session", http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet:
		b.follow(w, r, p)
	case r.Method == http.MethodDelete:
		if err := p.close(); err != nil {
			b.t.Errorf("the server of a deleted session: %v", err)
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "what?", http.StatusMethodNotAllowed)
	}
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request, p *pipe) {
	body, err := io.ReadAll(r.Body)
	if err == nil && !json.Valid(body) {
		err = fmt.Errorf("the body is not JSON")
	}
	if err != nil {
		refuse(w, nil, -32700, err.Error())
		return
	}
	o := objectOf(body)
	method := text(o["method"])
	version := text(o.at("params", "_meta", metaVersion))
	isModern := version != "" || p == nil && r.Header.Get("Mcp-Protocol-Version") >= modern
	switch {
	case isModern:
		p = b.shared
		if why := mirrored(r.Header, o, method, version); why != "" {
			refuse(w, o["id"], -32020, why)
			return
		}
	case method == "initialize":
		if p, err = openPipe(b.server, b.t.Output()); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		id := rand.Text()
		b.mu.Lock()
		b.sessions[id] = p
		b.mu.Unlock()
		w.Header().Set(sessionHeader, id)
	case p == nil:
		p, isModern = b.shared, true // of neither era: the server says so
	}
	if o["id"] == nil || method == "" { // a notification, or a reply to the server
		p.write(body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	x := p.ask(body)
	if !answer(w, r, x, isModern) {
		p.cancel(x)
	}
}

// answer writes the reply: as JSON when it is all there is, as an event stream
// when something came before it. It is false when the client left.
func answer(w http.ResponseWriter, r *http.Request, x *exchange, isModern bool) bool {
	var events *eventStream
	for {
		select {
		case note := <-x.notes:
			if events == nil {
				events = newEventStream(w)
			}
			events.send(note)
			continue
		case <-r.Context().Done():
			return false
		case <-x.done:
		}
		for len(x.notes) > 0 { // the server said them before the reply
			if events == nil {
				events = newEventStream(w)
			}
			events.send(<-x.notes)
		}
		switch {
		case x.reply == nil:
			if events == nil {
				http.Error(w, "the server has gone", http.StatusBadGateway)
			}
		case events != nil:
			events.send(x.reply)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(statusOf(x.reply, isModern))
			_, _ = w.Write(x.reply)
		}
		return true
	}
}

// follow streams what the server of a session says unasked.
func (b *bridge) follow(w http.ResponseWriter, r *http.Request, p *pipe) {
	notes := p.listen()
	defer p.forget(notes)
	events := newEventStream(w)
	for {
		select {
		case note := <-notes:
			events.send(note)
		case <-p.read:
			return
		case <-r.Context().Done():
			return
		}
	}
}

type eventStream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newEventStream(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s := &eventStream{w, http.NewResponseController(w)}
	_ = s.c.Flush() // a client that has gone shows in the request's context
	return s
}

func (s *eventStream) send(message []byte) {
	fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", message)
	_ = s.c.Flush()
}

// statusOf is the HTTP status that a reply calls for. Only the modern revision
// maps errors to statuses.
func statusOf(reply []byte, isModern bool) int {
	var m struct {
		Error *struct{ Code int }
	}
	if json.Unmarshal(reply, &m) != nil || m.Error == nil || !isModern {
		return http.StatusOK
	}
	switch c := m.Error.Code; {
	case c == -32601:
		return http.StatusNotFound
	case c == -32600, c == -32602, -32099 <= c && c <= -32020:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// mirrored compares the headers that repeat parts of a modern request with its
// body; "" when they agree.
func mirrored(h http.Header, o object, method, version string) string {
	differ := func(name, got, want string) string {
		return fmt.Sprintf("the header %s says %q, the body %q", name, got, want)
	}
	if got := h.Get("Mcp-Protocol-Version"); version != "" && got != version {
		return differ("Mcp-Protocol-Version", got, version)
	}
	if version == "" || method == "" || o["id"] == nil {
		return "" // the server finds what is wrong with it
	}
	if got := h.Get("Mcp-Method"); got != method {
		return differ("Mcp-Method", got, method)
	}
	named := map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}
	member, ok := named[method]
	if !ok {
		return ""
	}
	want := text(o.at("params", member))
	if got := plainHeader(h.Get("Mcp-Name")); got != want {
		return differ("Mcp-Name", got, want)
	}
	return ""
}

// plainHeader undoes the form of a header value that is not plain ASCII.
func plainHeader(v string) string {
	v = strings.TrimSpace(v)
	if coded, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?=")); err == nil {
			return string(b)
		}
	}
	return v
}

func refuse(w http.ResponseWriter, id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
}

// text is a JSON string's value, or "" for anything else.
func text(b json.RawMessage) string {
	var s string
	_ = json.Unmarshal(b, &s)
	return s
}
