package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// taskMethods are the methods of the Tasks extension.
func (s *Server) taskMethods() map[string]wire.Method {
	return map[string]wire.Method{
		"tasks/get":    {Eras: wire.Both, Tasks: true, Inline: true, Handle: s.getTask},
		"tasks/update": {Eras: wire.Both, Tasks: true, Inline: true, Handle: s.updateTask},
		"tasks/cancel": {Eras: wire.Both, Tasks: true, Handle: s.cancelTask},
	}
}

// task finds a task that has not expired.
func (s *Server) task(id string) (Task, bool) {
	if j, ok := s.store.Get(id); ok {
		snap := j.Snapshot()
		return jobTask{s, j}, !snap.Terminal() || time.Since(snap.Ended) < taskTTL
	}
	if s.tasks != nil {
		return s.tasks.Task(id)
	}
	return nil, false
}

// taskOf finds the task that a request names.
func (s *Server) taskOf(r *wire.Request) (Task, *args, *wire.Error) {
	a := parseArgs(r.Params)
	id, ok := a.text("taskId")
	if !ok {
		return nil, nil, invalid("%s: params.taskId is required and must be a string", r.Method)
	}
	t, ok := s.task(id)
	if !ok {
		return nil, nil, invalid("%s: unknown or expired task %s", r.Method, quoted(id))
	}
	return t, a, nil
}

func (s *Server) getTask(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	t, _, e := s.taskOf(r)
	if e != nil {
		return nil, e
	}
	return before(`"resultType":"complete"`, t.State(r.Era).Detail), nil
}

// taskAck acknowledges: what became of the request shows in the task itself.
const taskAck = `{"resultType":"complete"}`

func (s *Server) updateTask(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	t, a, e := s.taskOf(r)
	if e != nil {
		return nil, e
	}
	var answers map[string]json.RawMessage
	if in := a.object("inputResponses"); in != nil {
		answers = map[string]json.RawMessage{}
		for _, m := range in.members {
			answers[string(m.name)] = m.value
		}
	}
	if a.err != nil {
		return nil, invalid("%s: params.%v", r.Method, a.err)
	}
	t.Update(answers)
	return json.RawMessage(taskAck), nil
}

func (s *Server) cancelTask(ctx context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	t, _, e := s.taskOf(r)
	if e != nil {
		return nil, e
	}
	if err := t.Cancel(ctx); err != nil {
		return nil, &wire.Error{Code: wire.CodeInternal, Message: r.Method + ": " + err.Error()}
	}
	return json.RawMessage(taskAck), nil
}

// mint turns the answer of run into a task, if the job has a future to tell of:
// in the modern era one that could not start is no task.
func (s *Server) mint(c *wire.Call, j *job.Job, snap *job.Snapshot, payload []byte) wire.Result {
	stillborn := snap.State == job.Failed && snap.Spawned.IsZero()
	switch {
	case !stillborn && c.Era == wire.Modern:
		return wire.Result{Raw: minted(began(snap), nil)}
	case stillborn && c.Era == wire.Modern:
		return reply(payload)
	case stillborn:
		return wire.Result{Raw: minted(snap, payload)}
	}
	return wire.Result{
		Raw:  minted(began(snap), payload),
		Sent: func() { go s.push(c.Conn, j) },
	}
}

// began is a record as it was before the end of a job that was over already
// when run answered. A task begins as working, however short it is.
func began(snap *job.Snapshot) *job.Snapshot {
	first := *snap
	if first.Terminal() {
		first.State, first.Ended, first.LeaderExit = job.Running, time.Time{}, nil
	}
	return &first
}

// minted is the answer that makes a task of a call. A client of the legacy era
// that knows no tasks reads the payload beside it.
func minted(snap *job.Snapshot, payload []byte) []byte {
	o := newObject(recordSize + 2*len(payload))
	o.str("resultType", "task")
	o.task(snap, wire.Legacy, time.Time{})
	if payload != nil {
		o.content(payload)
	}
	return o.close()
}

// before puts a member in front of those of an object that has some.
func before(member string, object []byte) []byte {
	b := make([]byte, 0, len(member)+len(object)+1)
	b = append(append(b, '{'), member...)
	return append(append(b, ','), object[1:]...)
}
