package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// The first line opens a window of 200 ms whose lines go out together; the end
// of the job closes it at once.
func TestPushWindow(t *testing.T) {
	for _, c := range []struct {
		name string
		life time.Duration // of the job, after its lines
		want time.Duration // from the start to the wake
	}{
		{"the job goes on", time.Second, pushWindow},
		{"the job ends inside", pushWindow / 2, pushWindow / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t, func(p *puppet, _ sys.Spec) {
					p.print(p.out, "a\nb\n")
					p.print(p.err, "c\nd")
					p.out.Close() // else the reading of a real pipe holds the clock
					p.err.Close()
					time.AfterFunc(c.life, func() { p.leave(0, 0) })
				}, nil)
				conn := connect(t, th.Server)
				conn.openTasks()
				start := time.Now()
				id := conn.mint("1", "", th.tool)
				wake := conn.note(outputWake)
				if took := time.Since(start); took != c.want {
					t.Errorf("the wake came after %v, want %v", took, c.want)
				}
				var texts []string
				for _, stream := range []string{"stdout", "stderr"} {
					for _, l := range wake[stream].([]any) {
						texts = append(texts, fmt.Sprint(l.(map[string]any)["text"], l.(map[string]any)["partial"]))
					}
				}
				if got := strings.Join(texts, " "); got != "a<nil> b<nil> c<nil> dtrue" {
					t.Errorf("the wake has %s: %v", got, wake)
				}
				if end := conn.note("notifications/tasks"); end["taskId"] != id || time.Since(start) != c.life {
					t.Errorf("after %v: %v", time.Since(start), end)
				}
				if lines := conn.end(); len(lines) != 0 {
					t.Errorf("also sent: %q", lines)
				}
			})
		})
	}
}

// What is more than one notification holds goes into several, and all of it
// comes before the end.
func TestPushMuch(t *testing.T) {
	const lines = 9000
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	c.openTasks()
	id := c.mint("1", "", th.tool)
	p := th.stage.at(0)
	j, _ := th.store.Get(id)
	go func() {
		fifty := strings.Repeat(strings.Repeat("x", 100)+"\n", 50)
		for range lines / 100 {
			p.print(p.out, fifty)
			p.print(p.err, fifty)
		}
		p.leave(0, 0)
	}()
	seen := map[float64]bool{}
	for {
		l := c.line()
		if len(l) > pushBudget+1024 {
			t.Errorf("a notification of %d bytes", len(l))
		}
		m := decoded(t, l)
		params := m["params"].(map[string]any)
		if m["method"] == "notifications/tasks" {
			break
		}
		for _, stream := range []string{"stdout", "stderr"} {
			list, _ := params[stream].([]any)
			for _, e := range list {
				seq := e.(map[string]any)["seq"].(float64)
				if seen[seq] {
					t.Fatalf("line %v came twice", seq)
				}
				seen[seq] = true
			}
		}
	}
	// Everything fits what is kept, so nothing may be missing.
	if len(seen) != lines || j.Head(job.SelBoth) != lines {
		t.Errorf("%d lines of %d were pushed", len(seen), lines)
	}
}

// A flood is no longer pushed after two seconds, which the task says; its end
// still comes.
func TestPushFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("floods for two seconds")
	}
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	c.openTasks()
	id := c.mint("1", "", th.tool)
	p := th.stage.at(0)
	stop := make(chan struct{})
	go func() {
		for !over(stop) {
			p.print(p.out, strings.Repeat("flood\n", 1000))
		}
		p.leave(0, 0)
	}()
	pushed := 0
	for {
		got := c.ask(`"q"`, "tasks/get", `"taskId":"`+id+`"`, "")
		pushed += len(c.kept)
		c.kept = nil
		if got["status"] != "working" {
			t.Fatalf("while it floods: %v", got)
		}
		if strings.Contains(got["statusMessage"].(string), "too fast") {
			break
		}
	}
	if pushed == 0 {
		t.Error("nothing was pushed in the first two seconds")
	}
	close(stop)
	end := c.note("notifications/tasks")
	stopped, _ := end["result"].(map[string]any)["watchStopped"].(map[string]any)
	if end["status"] != "completed" || stopped["reason"] != "firehose" || stopped["stoppedAt"] == nil {
		t.Errorf("the end is %v", end)
	}
	text, _ := json.Marshal(end)
	if strings.Contains(string(text), `"flood"`) {
		t.Errorf("lines in the end: %s", text)
	}
}

func TestFloodGuard(t *testing.T) {
	start := time.Now()
	f := flood{at: start}
	lines := uint64(0)
	// look goes on by d in which the job prints at a rate.
	now := start
	look := func(d time.Duration, rate uint64) bool {
		now = now.Add(d)
		lines += rate * uint64(d.Milliseconds()) / 1000
		return f.sustained(now, lines)
	}
	for i := range 9 {
		if look(200*time.Millisecond, floodRate) {
			t.Fatalf("too fast after %d windows", i+1)
		}
	}
	if look(200*time.Millisecond, floodRate-100) {
		t.Error("a slower window ends the count")
	}
	for i := range 9 {
		if look(200*time.Millisecond, 2*floodRate) {
			t.Fatalf("too fast after %d windows of the second time", i+1)
		}
	}
	if !look(200*time.Millisecond, floodRate) {
		t.Error("two seconds are a flood")
	}
	f = flood{at: now, lines: lines}
	if look(time.Hour, floodRate-1) || look(time.Second, 100*floodRate) || !look(time.Second, floodRate) {
		t.Error("a long look counts by its rate")
	}
	if (&flood{at: now, lines: 10}).sustained(now.Add(time.Second), 5) {
		t.Error("a head that steps back is no flood")
	}
}
