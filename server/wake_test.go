package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
	"github.com/belfry-dev/belfry/sys"
)

// door is a transport that notes what it is given.
type door struct {
	name  string
	takes time.Duration

	mu      sync.Mutex
	outcome hostwake.Outcome
	said    []string
	at      []time.Time
}

func (d *door) Name() string { return d.name }

func (d *door) Wake(ctx context.Context, payload string) hostwake.Outcome {
	d.mu.Lock()
	d.said, d.at = append(d.said, payload), append(d.at, time.Now())
	o := d.outcome
	d.mu.Unlock()
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
		return hostwake.Outcome{Result: hostwake.Threw, Detail: ctx.Err().Error()}
	}
	return o
}

func (d *door) calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.said...)
}

func (d *door) first() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at[0]
}

// doored is a theatre whose server has doors.
func doored(t *testing.T, play func(p *puppet, sp sys.Spec), o Options) *theatre {
	t.Helper()
	th := newTheatre(t, play, nil)
	srv, err := New(th.store, o)
	if err != nil {
		t.Fatal(err)
	}
	th.Server = srv
	return th
}

// Output wakes the host once for a window, the end once; the first door that
// delivers is the last one tried; a door that says it is shut for good is not
// tried again; what came of it stands in the record.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shut := &door{name: "shut", outcome: hostwake.Outcome{Result: hostwake.Unavailable, Detail: "nobody", Permanent: true}}
		bad := &door{name: "bad", outcome: hostwake.Outcome{Result: hostwake.Refused, Detail: "no"}}
		good := &door{name: "good", outcome: hostwake.Outcome{Result: hostwake.Delivered, Detail: "yes"}, takes: time.Second}
		never := &door{name: "never"}
		logged := make(chan string, 100)
		th := doored(t, nil, Options{Hosts: []hostwake.Transport{shut, bad, good, never},
			Log: func(format string, args ...any) { logged <- fmt.Sprintf(format, args...) }})
		c := connect(t, th.Server)
		c.post("1", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
		m, _ := c.content(c.reply("1"))
		id := m["job_id"].(string)
		if m["last_wake_attempt"] != nil {
			t.Errorf("before any attempt: %v", m)
		}
		p := th.stage.at(0)
		start := time.Now()
		p.print(p.out, "a\nb\n")
		p.out.Close() // else the reading of a real pipe holds the clock
		p.err.Close()
		time.Sleep(3 * time.Second)
		last := th.call("status", `{"job_id":"`+id+`"}`)["last_wake_attempt"].(map[string]any)
		if last["outcome"] != "delivered" || last["transportName"] != "good" || last["detail"] != "yes" ||
			last["attemptedAt"] == nil || last["permanent"] != nil {
			t.Errorf("after the output: %v", last)
		}
		p.leave(0, 0)
		time.Sleep(3 * time.Second)
		got := good.calls()
		if len(got) != 2 || !strings.Contains(got[0], "new output") || !strings.Contains(got[1], "exited") {
			t.Fatalf("said %q", got)
		}
		for _, text := range got {
			if !strings.Contains(text, id) || strings.ContainsAny(text, "\n\r") || !strings.Contains(text, "output and tail") {
				t.Errorf("said %q", text)
			}
		}
		if took := good.first().Sub(start); took != pushWindow {
			t.Errorf("the first wake came after %v", took)
		}
		if n := len(shut.calls()); n != 1 {
			t.Errorf("a door shut for good was tried %d times", n)
		}
		if n := len(bad.calls()); n != 2 || len(never.calls()) != 0 {
			t.Errorf("the other doors were tried %d and %d times", n, len(never.calls()))
		}
		if first := <-logged; !strings.Contains(first, "nobody") {
			t.Errorf("logged %q", first)
		}
		// Other tools tell of it too.
		for tool, args := range map[string]string{"kill": `{"job_id":"` + id + `"}`, "follow": `{"job_id":"` + id + `"}`} {
			if m := th.call(tool, args); m["last_wake_attempt"] == nil {
				t.Errorf("%s does not tell: %v", tool, m)
			}
		}
	})
}

// A job that ends inside the window tells its end alone, and one that was over
// when run answered tells nothing.
func TestWakeEndsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{name: "d", outcome: hostwake.Outcome{Result: hostwake.Refused, Detail: "no"}}
		th := doored(t, func(p *puppet, _ sys.Spec) {
			p.print(p.out, "a\n")
			p.out.Close()
			p.err.Close()
			time.AfterFunc(pushWindow/2, func() { p.leave(1, 0) })
		}, Options{Hosts: []hostwake.Transport{d}})
		c := connect(t, th.Server)
		c.post("1", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
		m, _ := c.content(c.reply("1"))
		c.post("2", "run", `{"command":["/no/such"]}`)
		c.reply("2")
		time.Sleep(time.Second)
		if got := d.calls(); len(got) != 1 || !strings.Contains(got[0], "exited") {
			t.Errorf("said %q", got)
		}
		last := th.call("status", `{"job_id":"`+m["job_id"].(string)+`"}`)["last_wake_attempt"].(map[string]any)
		if last["outcome"] != "refused" || last["permanent"] != false {
			t.Errorf("the record: %v", last)
		}
	})
}

// A thread is woken if a run names one, and only where threads can be woken.
func TestWakeThread(t *testing.T) {
	for _, c := range []struct {
		meta  string
		woken string
	}{
		{`,"threadId":"T1"`, "T1"},
		{`,"threadId":""`, ""},
		{`,"threadId":7`, ""},
		{``, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &door{outcome: hostwake.Outcome{Result: hostwake.Delivered}}
			var asked []string
			th := doored(t, nil, Options{Thread: func(id string) hostwake.Transport {
				asked = append(asked, id)
				return d
			}})
			conn := connect(t, th.Server)
			env := strings.Replace(envelope, `{}}`, `{}`+c.meta+`}`, 1)
			conn.write("1", "tools/call", fmt.Sprintf(`"name":"run","arguments":{"command":[%q]}`, th.tool), env)
			conn.reply("1")
			p := th.stage.at(0)
			p.leave(0, 0)
			time.Sleep(time.Second)
			if strings.Join(asked, " ") != c.woken || len(d.calls()) != len(asked) {
				t.Errorf("%s: asked %q, woken %q", c.meta, asked, d.calls())
			}
		})
	}
}

// When the connection ends, nobody is there to be woken.
func TestWakeAfterTheConnection(t *testing.T) {
	d := &door{outcome: hostwake.Outcome{Result: hostwake.Delivered}}
	th := doored(t, nil, Options{Hosts: []hostwake.Transport{d}})
	c := connect(t, th.Server)
	c.post("1", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
	m, _ := c.content(c.reply("1"))
	c.end()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
	c.done <- nil // for the end of the test
	th.stage.at(0).leave(0, 0)
	th.ended(m["job_id"].(string))
	if got := d.calls(); len(got) != 0 {
		t.Errorf("said %q", got)
	}
}

func TestByJob(t *testing.T) {
	th := newTheatre(t, nil, func(c *job.Config) { c.MaxRecords = ptr(1) })
	var b byJob[int]
	first := th.call("run", `{"command":["/no/such"]}`)["job_id"].(string)
	b.set(th.store, first, 1)
	b.set(th.store, first, 2)
	if b.get(first) != 2 || b.get("other") != 0 {
		t.Errorf("%v", b.of)
	}
	second := th.call("run", `{"command":["/no/such"]}`)["job_id"].(string)
	for {
		if _, there := th.store.Get(first); !there {
			break
		}
		th.call("run", `{"command":["/no/such"]}`)
	}
	b.set(th.store, second, 3)
	if _, there := b.of[first]; there {
		t.Errorf("kept after its record: %v", b.of)
	}
}
