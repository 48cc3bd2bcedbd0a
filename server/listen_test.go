package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

const acknowledged = "notifications/subscriptions/acknowledged"

// listen opens a listen for tasks and reads its acknowledgement.
func (c *client) listen(id string, tasks ...string) map[string]any {
	c.t.Helper()
	c.write(id, "subscriptions/listen", `"notifications":{"taskIds":["`+strings.Join(tasks, `","`)+`"]}`, tasksEnvelope)
	return c.note(acknowledged)
}

// The acknowledgement comes first and names what is honoured; then the state
// as it is, then every change, each under the listen's own id.
func TestListen(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	id := c.mint("1", tasksEnvelope, th.tool)
	c.write(`"a"`, "subscriptions/listen", fmt.Sprintf(`"notifications":{"taskIds":[%q,"no such",%q],"toolsListChanged":true}`, id, id), tasksEnvelope)
	first := decoded(t, c.line())
	ack := first["params"].(map[string]any)
	if first["method"] != acknowledged || fmt.Sprint(ack["notifications"]) != "map[taskIds:["+id+"]]" || subscription(ack) != "a" {
		t.Errorf("acknowledged %v", first)
	}
	if now := c.note("notifications/tasks"); now["status"] != "working" || now["taskId"] != id || subscription(now) != "a" || now["resultType"] != nil {
		t.Errorf("the present state is %v", now)
	}
	// A second one for the same task, under an id that differs by type alone.
	if ack := c.listen("7", id); subscription(ack) != 7.0 {
		t.Errorf("acknowledged %v", ack)
	}
	c.note("notifications/tasks")
	p := th.stage.at(0)
	p.print(p.out, "no change of state\n")
	p.leave(5, 0)
	got := map[any]int{}
	for range 2 {
		n := c.note("notifications/tasks")
		got[subscription(n)]++
		if n["status"] != "completed" || n["result"].(map[string]any)["structuredContent"].(map[string]any)["exit_code"] != 5.0 {
			t.Errorf("the end is %v", n)
		}
	}
	if got["a"] != 1 || got[7.0] != 1 {
		t.Errorf("told %v", got)
	}
	// After the end: acknowledged, then the end once.
	c.listen(`"late"`, id)
	if n := c.note("notifications/tasks"); n["status"] != "completed" || subscription(n) != "late" {
		t.Errorf("subscribed after the end: %v", n)
	}
	// The input's end is answered by the response of each.
	ends := map[string]bool{}
	for _, l := range c.end() {
		m := decoded(t, l)
		r, _ := m["result"].(map[string]any)
		if m["method"] != nil || r["resultType"] != "complete" || subscription(r) != m["id"] {
			t.Errorf("at the end %s", l)
		}
		ends[fmt.Sprint(m["id"])] = true
	}
	if len(ends) != 3 {
		t.Errorf("ended %v", ends)
	}
}

// Nothing follows the cancel of a listen, and the others live on.
func TestListenCancelled(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	id := c.mint("1", tasksEnvelope, th.tool)
	for _, l := range []string{`"gone"`, `"stays"`} {
		c.listen(l, id)
		c.note("notifications/tasks")
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}`)
	c.ask("2", "tasks/get", `"taskId":"`+id+`"`, tasksEnvelope) // the cancel has been read
	th.stage.at(0).leave(0, 0)
	if n := c.note("notifications/tasks"); subscription(n) != "stays" || n["status"] != "completed" {
		t.Errorf("told %v", n)
	}
	if lines := c.end(); len(lines) != 1 || !strings.Contains(lines[0], `"id":"stays"`) {
		t.Errorf("at the end %q", lines)
	}
	if n := len(th.hub.watchers); n != 0 {
		t.Errorf("%d jobs are still watched", n)
	}
}

// A listen without anything to wait for ends at once, and a wrong one is
// refused.
func TestListenRefused(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	for i, f := range []string{``, `"notifications":5`, `"notifications":{"taskIds":"x"}`, `"notifications":{"taskIds":[1]}`,
		`"notifications":{"taskIds":null}`, `"notifications":{"toolsListChanged":1}`, `"notifications":{"resourceSubscriptions":{}}`} {
		if e := c.refused(fmt.Sprint(i), "subscriptions/listen", f, tasksEnvelope); e["code"] != -32602.0 {
			t.Errorf("{%s}: %v", f, e)
		}
	}
	if e := c.refused("20", "subscriptions/listen", `"notifications":{"taskIds":["x"]}`, envelope); e["code"] != -32021.0 ||
		!strings.Contains(fmt.Sprint(e["data"]), "io.modelcontextprotocol/tasks") {
		t.Errorf("without the extension: %v", e)
	}
	for i, f := range []string{`{}`, `{"toolsListChanged":true,"unknown":7}`, `{"taskIds":["x"]}`, `{"resourceSubscriptions":["belfry://jobs/x"]}`} {
		id := fmt.Sprint(30 + i)
		r := c.ask(id, "subscriptions/listen", `"notifications":`+f, tasksEnvelope)
		ack := c.note(acknowledged)
		if r["resultType"] != "complete" || subscription(r) != subscription(ack) || fmt.Sprint(subscription(ack)) != id {
			t.Errorf("%s: %v then %v", f, ack, r)
		}
		want := map[int]string{0: "map[]", 1: "map[]", 2: "map[taskIds:[]]", 3: "map[resourceSubscriptions:[]]"}[i]
		if got := fmt.Sprint(ack["notifications"]); got != want {
			t.Errorf("%s is acknowledged as %s", f, got)
		}
	}
	c.open()
	if e := c.refused("50", "subscriptions/listen", `"notifications":{}`, ""); e["code"] != -32601.0 {
		t.Errorf("in the legacy era: %v", e)
	}
}

// Twenty jobs that end together make twenty notices, each once and with its own
// code, in either era.
func TestEndsTogether(t *testing.T) {
	const jobs = 20
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			th := newTheatre(t, nil, func(c *job.Config) { c.MaxRunning = ptr(jobs) })
			c := connect(t, th.Server)
			env := tasksEnvelope
			if era == "legacy" {
				env = ""
				c.openTasks()
			}
			code := map[string]float64{}
			var ids []string
			for i := range jobs {
				id := c.mint(fmt.Sprint(i), env, th.tool)
				code[id] = float64(i)
				ids = append(ids, id)
			}
			if era == "modern" {
				c.listen(`"l"`, ids...)
				for range jobs {
					c.note("notifications/tasks")
				}
			}
			for i := range jobs {
				th.stage.at(i).leave(i, 0)
			}
			for range jobs {
				n := c.note("notifications/tasks")
				id := n["taskId"].(string)
				want, there := code[id]
				if got := n["result"].(map[string]any)["exitCode"]; !there || got != want {
					t.Errorf("task %s: exit code %v, want %v; known %v", id, got, want, there)
				}
				delete(code, id)
			}
			for _, l := range c.end() {
				if strings.Contains(l, `"notifications/tasks"`) {
					t.Errorf("once more: %s", l)
				}
			}
		})
	}
}

// With a thousand tasks, 64 listens of all of them and a client that does not
// read, the server stays small, other connections are served, and once the
// client reads it is told everything, ends of tasks and replies alike.
func TestListenToAClientThatDoesNotRead(t *testing.T) {
	const tasks, listens, replies = 1000, 64, 200
	th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.leave(0, 0) }, nil)
	other, deaf := connect(t, th.Server), connect(t, th.Server)
	ids := make([]string, 0, tasks)
	for i := range tasks {
		id := other.mint(fmt.Sprint(i), tasksEnvelope, th.tool)
		j, _ := th.store.Get(id)
		<-j.Done()
		ids = append(ids, id)
	}
	before := heap()
	filter := `"notifications":{"taskIds":["` + strings.Join(ids, `","`) + `"]}`
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range listens {
			deaf.write(fmt.Sprintf(`"l%d"`, i), "subscriptions/listen", filter, tasksEnvelope)
		}
		for i := range replies {
			deaf.write(fmt.Sprint(i), "tasks/get", `"taskId":"`+ids[0]+`"`, tasksEnvelope)
		}
	}()
	// The deaf client is owed more than the server keeps for it: it is not read
	// from any more, or it was read to the end.
	for i := 0; heap() < before+(8<<20) && !over(sent); i++ {
		other.ask(fmt.Sprintf(`"o%d"`, i), "tasks/get", `"taskId":"`+ids[i%tasks]+`"`, tasksEnvelope)
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("grown by %d MiB", grown>>20)
	}
	if m := other.ask(`"alive"`, "tasks/get", `"taskId":"`+ids[0]+`"`, tasksEnvelope); m["status"] != "completed" {
		t.Errorf("another connection: %v", m)
	}
	told := map[string]int{}
	answered := map[string]bool{}
	for len(told) < listens*tasks || len(answered) < replies {
		l := deaf.line()
		switch {
		case strings.Contains(l, `"method":"`+acknowledged):
		case strings.Contains(l, `"method":"notifications/tasks"`):
			if !strings.Contains(l, `,"status":"completed",`) {
				t.Fatalf("told %s", l)
			}
			told[between(l, `subscriptionId":`, "}")+between(l, `"taskId":`, ",")]++
		case strings.Contains(l, `"error":{`):
			t.Fatalf("answered %.300s", l)
		default:
			answered[between(l, `"id":`, ",")] = true
		}
	}
	for key, n := range told {
		if n != 1 {
			t.Fatalf("%s was told %d times", key, n)
		}
	}
	<-sent
}

// between gives what stands in s after the first a, up to b.
func between(s, a, b string) string {
	_, s, _ = strings.Cut(s, a)
	s, _, _ = strings.Cut(s, b)
	return s
}

// heap is the memory in use after a collection.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// More than the hub can hold at once only costs it a look at every job.
func TestHubOverrun(t *testing.T) {
	th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.leave(0, 0) }, func(c *job.Config) { c.MaxRunning = ptr(1) })
	told := make(chan struct{}, 1)
	j, _ := th.store.Get(th.run(""))
	<-j.Done()
	stop := th.hub.watch(j.ID(), func() { signal(told) })
	th.hub.mu.Lock() // the hub does not get round to reading
	for range hubBuffer {
		k, _ := th.store.Get(th.call("run", fmt.Sprintf(`{"command":[%q]}`, th.tool))["job_id"].(string))
		<-k.Done()
	}
	th.hub.mu.Unlock()
	select {
	case <-told:
	case <-time.After(30 * time.Second):
		t.Error("a watcher was not told of what was missed")
	}
	stop()
	th.hub.mu.Lock()
	if th.hub.sub != nil || len(th.hub.watchers) != 0 {
		t.Error("nobody watches, and the hub still listens")
	}
	th.hub.mu.Unlock()
}
