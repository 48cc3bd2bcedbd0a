package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/server"
	"github.com/belfry-dev/belfry/server/wire"
)

// tasks are the tasks that the tools have minted. None is ever forgotten: the
// program lives for one test.
type tasks struct {
	mu   sync.Mutex
	byID map[string]*task
}

func (t *tasks) Task(id string) (server.Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.byID[id]
	return found, ok
}

// task is a task that goes where its tool sends it.
type task struct {
	id      string
	created time.Time
	cancel  context.CancelFunc
	result  json.RawMessage // once every input request is answered

	mu       sync.Mutex
	updated  time.Time
	status   string
	outcome  any // result or error
	open     map[string]inputRequest
	watchers map[*func()]struct{}
}

// inputRequest asks the person at the client for something.
type inputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// mint enters a task that is working. work, when not nil, runs beside it and
// ends it; ctx ends with a cancel.
func (t *tasks) mint(work func(ctx context.Context, t *task)) *task {
	ctx, cancel := context.WithCancel(context.Background())
	now := time.Now()
	fresh := &task{
		id: rand.Text(), created: now, updated: now, cancel: cancel,
		status: "working", watchers: map[*func()]struct{}{},
	}
	t.mu.Lock()
	if t.byID == nil {
		t.byID = map[string]*task{}
	}
	t.byID[fresh.id] = fresh
	t.mu.Unlock()
	if work != nil {
		go work(ctx, fresh)
	}
	return fresh
}

// fields are the members that every form of a task has.
type fields struct {
	TaskID   string `json:"taskId"`
	Status   string `json:"status"`
	Created  string `json:"createdAt"`
	Updated  string `json:"lastUpdatedAt"`
	TTL      int    `json:"ttlMs"`
	Interval int    `json:"pollIntervalMs"`
}

func (t *task) fields(status string) fields {
	const form = "2006-01-02T15:04:05.000Z"
	return fields{t.id, status, t.created.UTC().Format(form), t.updated.UTC().Format(form), 60_000, 100}
}

// reply is the answer to the call that made the task, which begins as working.
func (t *task) reply() wire.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return wire.Result{Raw: encoded(struct {
		Type string `json:"resultType"`
		fields
	}{"task", t.fields("working")})}
}

func (t *task) State(wire.Era) server.TaskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	detail := struct {
		fields
		Result any                     `json:"result,omitempty"`
		Error  any                     `json:"error,omitempty"`
		Inputs map[string]inputRequest `json:"inputRequests,omitempty"`
	}{fields: t.fields(t.status)}
	keys := make([]string, 0, len(t.open))
	switch t.status {
	case "completed":
		detail.Result = t.outcome
	case "failed":
		detail.Error = t.outcome
	case "input_required":
		detail.Inputs = t.open
		for k := range t.open {
			keys = append(keys, k)
		}
		slices.Sort(keys)
	}
	return server.TaskState{Mark: t.status + " " + strings.Join(keys, " "), Detail: encoded(detail)}
}

// move takes the task to a state unless it has ended.
func (t *task) move(status string, outcome any) {
	t.mu.Lock()
	if t.status != "working" && t.status != "input_required" {
		t.mu.Unlock()
		return
	}
	t.status, t.outcome, t.updated = status, outcome, time.Now()
	t.mu.Unlock()
	t.tell()
}

// ask has the task wait for answers, and complete with a result then.
func (t *task) ask(result json.RawMessage, requests map[string]inputRequest) {
	t.mu.Lock()
	t.open, t.result, t.status = requests, result, "input_required"
	t.mu.Unlock()
	t.tell()
}

func (t *task) Update(answers map[string]json.RawMessage) {
	t.mu.Lock()
	waiting := t.status == "input_required"
	before := len(t.open)
	for key := range answers {
		delete(t.open, key)
	}
	answered, changed := len(t.open) == 0, len(t.open) != before
	t.mu.Unlock()
	switch {
	case !waiting || !changed:
	case answered:
		t.move("completed", t.result)
	default:
		t.tell()
	}
}

func (t *task) Cancel(context.Context) error {
	t.move("cancelled", nil)
	t.cancel()
	return nil
}

func (t *task) Watch(changed func()) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers[&changed] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, &changed)
	}
}

func (t *task) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.watchers {
		(*w)()
	}
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // values made here
	}
	return b
}
