package server

import (
	"fmt"
	"sync"
	"testing"

	"github.com/belfry-dev/belfry/server/wire"
)

// A follow of both streams never answers "output" without a line, though the
// head of both together steps back for a moment while both print.
func TestFollowOfBothHasLines(t *testing.T) {
	const each = 20_000
	th := newTheatre(t, nil, nil)
	id := th.run("")
	p := th.stage.at(0)
	var printers sync.WaitGroup
	printers.Go(func() {
		for range each {
			p.print(p.out, "o\n")
		}
	})
	printers.Go(func() {
		for range each {
			p.print(p.err, "e\n")
		}
	})
	go func() {
		printers.Wait()
		p.leave(0, 0)
	}()
	tool := th.followTool()
	for cursor := 0.0; ; {
		c := &wire.Call{Conn: &wire.Conn{}, Arguments: fmt.Appendf(nil, `{"job_id":%q,"cursor":%.0f,"max_bytes":1000000}`, id, cursor)}
		m := payload(t, serve(t.Context(), tool, c))
		events := m["events"].([]any)
		switch {
		case m["reason"] == "terminal":
			return
		case m["reason"] != "output" || len(events) == 0:
			t.Fatalf("answered %v after %v", m, cursor)
		case events[len(events)-1].(map[string]any)["seq"] != m["next_cursor"]:
			t.Fatalf("next_cursor %v after line %v", m["next_cursor"], events[len(events)-1])
		}
		cursor = m["next_cursor"].(float64)
	}
}

// A follow that finds nothing after all waits on, and takes a place for that.
func TestFollowWaitsOn(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	p := th.stage.at(0)
	j, _ := th.store.Get(id)
	p.print(p.out, "one\n")
	waitLines(t, j, 1)
	tool := th.followTool()
	c := &wire.Call{Conn: &wire.Conn{}, Arguments: fmt.Appendf(nil, `{"job_id":%q,"cursor":0}`, id)}
	c.Begun = tool.Begin(t.Context(), c)
	f := c.Begun.(*following)
	if f.no != nil || f.leave != nil {
		t.Fatalf("the answer is not there: %+v", f)
	}
	f.query.After = 1 // as if the head had stepped back below the line
	got := make(chan wire.Result, 1)
	go func() { got <- tool.Handle(t.Context(), c) }()
	for places := 0; places == 0; {
		th.waiting.mu.Lock()
		places = len(th.waiting.taken)
		th.waiting.mu.Unlock()
	}
	p.print(p.out, "two\n")
	if m := payload(t, <-got); m["reason"] != "output" || texts(m) != "two|" {
		t.Errorf("answered %v", m)
	}
	if n := len(th.waiting.taken); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}
