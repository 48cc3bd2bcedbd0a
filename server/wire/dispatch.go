package wire

import (
	"fmt"
	"slices"
)

// request is one request on its way to its handler. Its slices alias the line.
type request struct {
	message
	params
	key   []byte // idKey of id
	era   Era
	tasks bool
	batch *batch
}

// serveLine serves one line. It runs on the reading goroutine with work held.
func (c *Conn) serveLine(line []byte) {
	if !valid(line) {
		c.refuse(CodeParse, "Parse error", nil)
		return
	}
	line = trimSpace(line)
	if line[0] == '[' {
		c.readBatch(line)
		return
	}
	c.message(line, nil)
}

// message serves one message.
func (c *Conn) message(v []byte, t *batch) {
	m, ok := decode(v)
	switch {
	case !ok:
		c.refuse(CodeInvalidRequest, "Invalid Request", t)
	case m.kind == isNotification:
		c.notified(m)
	case m.kind == isRequest:
		c.request(&request{message: m, batch: t})
	}
}

// notified serves a notification of the client. Nothing answers one, however
// wrong it is.
func (c *Conn) notified(m message) {
	switch m.method {
	case "notifications/initialized":
		c.ready = c.version != ""
	case "notifications/cancelled":
		id := member(m.params, "requestId")
		if !validID(id) {
			return
		}
		if f := c.flights.remove(idKey(id)); f != nil {
			f.abandon(errCancelled)
		}
	}
}

// request finds the era of a request, checks what its era demands of every
// request, and hands it to what serves its method.
func (c *Conn) request(r *request) {
	r.key = idKey(r.id)
	if c.flights.known(r.key) || r.batch != nil && r.batch.ids[string(r.key)] {
		// An error under that id would settle the request that has it.
		c.refuse(CodeInvalidRequest, "Invalid Request: the id is in use", r.batch)
		return
	}
	if r.batch != nil {
		r.batch.ids[string(r.key)] = true
	}
	if r.badParams {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: "params must be an object"}, r.batch)
		return
	}
	r.params = readParams(r.message.params)
	if r.twice {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: "params has a member twice"}, r.batch)
		return
	}
	r.era = r.params.era()
	var e *Error
	if r.era == Modern {
		e = c.admitModern(r)
	} else {
		e = c.admitLegacy(r)
	}
	if e != nil {
		c.fail(r.id, e, r.batch)
		return
	}
	serve, ok := c.front.routes[r.method]
	if !ok || serve.eras&r.era == 0 {
		c.fail(r.id, &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.80q", r.method)}, r.batch)
		return
	}
	if serve.tasks && r.era == Modern && !r.tasks {
		c.fail(r.id, NeedsTasks(), r.batch)
		return
	}
	serve.to(c, r)
}

func (c *Conn) admitModern(r *request) *Error {
	if e := r.envelope(); e != nil {
		return e
	}
	if r.batch != nil {
		return &Error{Code: CodeInvalidRequest, Message: "no batches in revision " + modernVersion}
	}
	r.tasks = declaresTasks(r.capabilities)
	return nil
}

func (c *Conn) admitLegacy(r *request) *Error {
	r.tasks = c.legacyTasks
	switch {
	case r.method == "server/discover":
		return missing(versionKey, "a string")
	case r.method == "ping":
	case r.method == "initialize":
		if c.version != "" {
			return &Error{Code: CodeInvalidRequest, Message: "initialize was answered before"}
		}
	case c.version == "":
		return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(
			"the connection is not open: send initialize, or put %q and %q into params._meta of each request",
			versionKey, capabilitiesKey)}
	case r.method == "tools/call" && !c.ready:
		return &Error{Code: CodeInvalidRequest, Message: "tools/call before notifications/initialized"}
	}
	return nil
}

// route is what serves a method, and in which eras it exists.
type route struct {
	eras  Era
	tasks bool // Method.Tasks
	to    func(c *Conn, r *request)
}

// reserved are the names that Options.Methods may not have: those the front
// serves, and those whose service would contradict its capabilities.
var reserved = []string{
	"initialize", "ping", "server/discover", "tools/list", "tools/call", "logging/setLevel",
}

// standard returns the routes that every front has.
func standard() map[string]route {
	return map[string]route{
		"initialize":      {eras: Legacy, to: (*Conn).initialize},
		"ping":            {eras: Legacy, to: (*Conn).ping},
		"server/discover": {eras: Modern, to: (*Conn).forward},
		"tools/list":      {eras: Both, to: (*Conn).forward},
		"tools/call":      {eras: Both, to: (*Conn).callTool},
	}
}

// addMethods adds the methods of extensions to the routes.
func addMethods(routes map[string]route, methods map[string]Method) error {
	for name, m := range methods {
		switch {
		case slices.Contains(reserved, name):
			return fmt.Errorf("method %q is the front's own", name)
		case m.Handle == nil || m.Eras&Both == 0:
			return fmt.Errorf("method %q lacks a handler or an era", name)
		case m.Listen && m.Inline:
			return fmt.Errorf("method %q cannot be both a listen and inline", name)
		}
		routes[name] = methodRoute(name, m)
	}
	return nil
}

func (c *Conn) ping(r *request) { c.succeed(r.id, []byte("{}"), r.batch) }
