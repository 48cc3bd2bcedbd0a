package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// callTool serves tools/call straight from the table.
func (c *Conn) callTool(r *request) {
	if !isString(r.name) {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: "params.name is required and must be a string"}, r.batch)
		return
	}
	t := c.front.tools[string(unquoted(r.name))]
	if t == nil {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("unknown tool %.80q", unquoted(r.name))}, r.batch)
		return
	}
	if isNull(r.arguments) {
		r.arguments = nil
	}
	if r.arguments != nil && !isObject(r.arguments) {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: "params.arguments must be an object"}, r.batch)
		return
	}
	f := &flight{conn: c, era: r.era, batch: r.batch}
	call := &Call{Tool: t.Name, Era: r.era, Tasks: r.tasks, Conn: c}
	if !t.Inline {
		call.flight = f // an inline call is over before anything waits for it
	}
	// One copy for all that outlives the line.
	own := make([]byte, 0, len(r.id)+len(r.arguments)+len(r.inputs)+len(r.meta)+len(r.token))
	own, f.id = keep(own, r.id)
	own, call.Arguments = keep(own, r.arguments)
	own, call.InputResponses = keep(own, r.inputs)
	own, call.RawMeta = keep(own, r.meta)
	if r.token != nil {
		_, f.token = keep(own, r.token)
		call.Progress = f.progress
	}
	if t.Begin != nil {
		f.begin = func(ctx context.Context) { c.front.beginTool(ctx, t, call) }
	}
	c.start(r, f, t.Inline, cap(own), func(ctx context.Context) {
		res := c.front.handleTool(ctx, t, call)
		line := newBuffer()
		if res.Err != nil {
			*line = appendError(*line, f.id, res.Err)
		} else {
			b := append(appendReply(*line, f.id), `,"result":`...)
			*line = append(c.front.stamp.appendResult(b, f.era, res), "}\n"...)
		}
		if f.finish(line) && res.Sent != nil {
			res.Sent()
		}
	})
}

// keep copies v to the end of own, which has room for it.
func keep(own, v []byte) (rest, copied []byte) {
	if v == nil {
		return own, nil
	}
	n := len(own)
	own = append(own, v...)
	return own, own[n:len(own):len(own)]
}

// start runs a handler, on this goroutine or on one of its own with a place in
// the table. bytes is what the request holds in memory.
func (c *Conn) start(r *request, f *flight, inline bool, bytes int, run func(context.Context)) {
	if r.batch != nil {
		r.batch.expect()
	}
	if inline {
		if f.begin != nil {
			f.begin(c.ctx)
		}
		run(c.ctx)
		return
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	f.cancel, f.bytes = cancel, bytes
	key := string(r.key)
	if e := c.flights.add(key, f); e != nil {
		cancel(nil)
		line := newBuffer()
		*line = appendError(*line, f.id, e)
		f.finish(line)
		return
	}
	if f.begin != nil {
		f.begin(ctx)
	}
	c.workers.Do(c.ctx, func() {
		defer cancel(nil)
		defer c.flights.done(key, f)
		run(ctx)
	})
}

// beginTool calls a tool's Begin. After a panic of it the call is answered with
// an internal error.
func (f *Front) beginTool(ctx context.Context, t *Tool, call *Call) {
	defer func() {
		if v := recover(); v != nil {
			f.logf("tool %s: panic: %v\n%s", t.Name, v, debug.Stack())
			call.broken = true
		}
	}()
	call.Begun = t.Begin(ctx, call)
}

// handleTool calls a tool's handler. A panic of it ends the call, not the
// server, which has other people's jobs in its care.
func (f *Front) handleTool(ctx context.Context, t *Tool, call *Call) (res Result) {
	defer func() {
		if v := recover(); v != nil {
			f.logf("tool %s: panic: %v\n%s", t.Name, v, debug.Stack())
			res = Result{Err: &Error{Code: CodeInternal, Message: "internal error in tool " + t.Name}}
		}
	}()
	if call.broken {
		return Result{Err: &Error{Code: CodeInternal, Message: "internal error in tool " + t.Name}}
	}
	return t.Handle(ctx, call)
}

// methodRoute serves a method of Options.Methods.
func methodRoute(name string, m Method) route {
	return route{eras: m.Eras, tasks: m.Tasks, to: func(c *Conn, r *request) {
		f := &flight{conn: c, era: r.era, batch: r.batch, listen: m.Listen}
		req := &Request{Method: name, Era: r.era, Tasks: r.tasks, Conn: c, Notify: f.notify}
		own := make([]byte, 0, len(r.id)+len(r.message.params)+len(r.meta))
		own, f.id = keep(own, r.id)
		own, req.Params = keep(own, r.message.params)
		_, req.RawMeta = keep(own, r.meta)
		req.ID = f.id
		c.start(r, f, m.Inline, cap(own), func(ctx context.Context) {
			v, e := c.front.handleMethod(ctx, m, req)
			line := newBuffer()
			if e != nil {
				*line = appendError(*line, f.id, e)
			} else {
				b := append(appendReply(*line, f.id), `,"result":`...)
				*line = append(c.front.stamp.appendObject(b, f.era, v), "}\n"...)
			}
			f.finish(line)
		})
	}}
}

func (f *Front) handleMethod(ctx context.Context, m Method, r *Request) (v json.RawMessage, e *Error) {
	defer func() {
		if p := recover(); p != nil {
			f.logf("method %s: panic: %v\n%s", r.Method, p, debug.Stack())
			v, e = nil, &Error{Code: CodeInternal, Message: "internal error in method " + r.Method}
		}
	}()
	return m.Handle(ctx, r)
}
