package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-dev/belfry/server/client"
)

// notices collects the notifications of a client.
type notices struct {
	mu   sync.Mutex
	all  []notice
	news chan struct{}
}

type notice struct {
	method string
	params struct {
		TaskID       string
		Status       string
		URI          string
		Stdout       []struct{ Text string }
		Result       struct{ ExitCode *int }
		Notification map[string]json.RawMessage `json:"notifications"`
		Meta         map[string]json.RawMessage `json:"_meta"`
	}
}

func (n *notices) take(method string, params json.RawMessage) {
	one := notice{method: method}
	if json.Unmarshal(params, &one.params) != nil {
		one.method = "broken " + string(params)
	}
	n.mu.Lock()
	n.all = append(n.all, one)
	n.mu.Unlock()
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// wait waits until so many notices satisfy a test and gives those.
func (n *notices) wait(s *server, count int, is func(notice) bool) (found []notice) {
	s.t.Helper()
	ctx := s.within()
	for {
		n.mu.Lock()
		found = nil
		for _, one := range n.all {
			if is(one) {
				found = append(found, one)
			}
		}
		n.mu.Unlock()
		if len(found) >= count {
			return found
		}
		select {
		case <-n.news:
		case <-ctx.Done():
			s.t.Fatalf("%d notices of %d", len(found), count)
		}
	}
}

func (n notice) ended() bool {
	return n.method == "notifications/tasks" && n.params.Status != "working"
}

// serveTasks starts a server whose client declares the Tasks extension and
// collects what comes unasked.
func serveTasks(t *testing.T, o setup) (*server, *notices) {
	t.Helper()
	s := prepare(t, o)
	var err error
	s.Client, err = client.Start(s.command(o))
	s.must(err)
	t.Cleanup(s.cleanUp)
	n := &notices{news: make(chan struct{}, 1)}
	s.OnNotification(n.take)
	_, err = s.Call(s.within(), "initialize", args{
		"protocolVersion": "2025-11-25", "capabilities": args{"extensions": tasksExtension},
		"clientInfo": args{"name": "e2e", "version": "1"},
	}, nil)
	s.must(err)
	s.must(s.Notify("notifications/initialized", nil))
	return s, n
}

var tasksExtension = args{"io.modelcontextprotocol/tasks": args{}}

// modernly adds the envelope of the 2026-07-28 revision.
func modernly(params args) args {
	params["_meta"] = args{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": args{"extensions": tasksExtension},
	}
	return params
}

// mint starts a job as a task.
func (s *server) mint(params args) string {
	s.t.Helper()
	var task struct{ ResultType, TaskID, Status string }
	_, err := s.Call(s.within(), "tools/call", params, &task)
	s.must(err)
	if task.ResultType != "task" || task.Status != "working" || task.TaskID == "" {
		s.t.Fatalf("run answered %+v", task)
	}
	return task.TaskID
}

func (s *server) runCall(command any) args {
	return args{"name": "run", "arguments": s.runArgs(command)}
}

// The two eras side by side on one connection: the legacy task tells of itself,
// the modern one only through a listen, and each listen bears its own id.
func TestTasksOfBothEras(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	s, n := serveTasks(t, setup{})
	old := s.mint(s.runCall(shell("echo one; exit 3")))
	wake := n.wait(s, 1, func(n notice) bool { return n.method == "notifications/belfry/outputWake" })[0]
	if wake.params.TaskID != old || len(wake.params.Stdout) != 1 || wake.params.Stdout[0].Text != "one" {
		t.Errorf("wake %+v", wake)
	}
	end := n.wait(s, 1, notice.ended)[0]
	if end.params.TaskID != old || end.params.Status != "completed" || end.params.Result.ExitCode == nil || *end.params.Result.ExitCode != 3 {
		t.Errorf("end %+v", end)
	}
	fresh := s.mint(modernly(s.runCall([]string{"sleep", "300"})))
	var open []*client.Pending
	for _, id := range []string{`"7"`, "7"} {
		p, err := s.SendID(id, "subscriptions/listen", modernly(args{"notifications": args{"taskIds": []string{fresh, "nope"}}}))
		s.must(err)
		open = append(open, p)
	}
	n.wait(s, 2, func(n notice) bool { return n.params.TaskID == fresh && n.params.Status == "working" })
	if _, err := s.Call(s.within(), "tasks/cancel", modernly(args{"taskId": fresh}), nil); err != nil {
		t.Error(err)
	}
	ids := map[string]bool{}
	for _, end := range n.wait(s, 3, notice.ended)[1:] {
		if end.params.TaskID != fresh || end.params.Status != "cancelled" {
			t.Errorf("end %+v", end)
		}
		ids[string(end.params.Meta["io.modelcontextprotocol/subscriptionId"])] = true
	}
	if !ids["7"] || !ids[`"7"`] {
		t.Errorf("subscriptions %v", ids)
	}
	s.must(s.CloseInput())
	for _, p := range open {
		if r, err := p.Wait(s.within()); err != nil || !strings.Contains(string(r.Result), `"complete"`) {
			t.Errorf("a listen ended with %s, %v", r.Result, err)
		}
	}
	s.exits(0)
	n.mu.Lock()
	defer n.mu.Unlock()
	count := map[string]int{}
	for _, one := range n.all {
		if one.ended() {
			count["end"]++
		}
		count[one.method]++
	}
	if count["end"] != 3 || count["notifications/belfry/outputWake"] != 1 || count["notifications/subscriptions/acknowledged"] != 2 {
		t.Errorf("told %v", count)
	}
}

// Twenty jobs that end together are told of one by one, each once and with its
// own code.
func TestTwentyNotices(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	const jobs = 20
	s, n := serveTasks(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": fmt.Sprint(jobs)}})
	flag := s.path("go")
	code := map[string]int{}
	for i := range jobs {
		id := s.mint(s.runCall(shell(fmt.Sprintf(`until [ -e "%s" ]; do sleep 0.02; done; exit %d`, flag, i))))
		code[id] = i
		s.running(id)
	}
	s.must(os.WriteFile(flag, nil, 0o644))
	n.wait(s, jobs, notice.ended)
	s.must(s.CloseInput())
	s.exits(0)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.all {
		if !one.ended() {
			continue
		}
		want, there := code[one.params.TaskID]
		if got := one.params.Result.ExitCode; !there || got == nil || *got != want {
			t.Errorf("told once more, or wrongly: %+v", one.params)
		}
		delete(code, one.params.TaskID)
	}
	if len(code) > 0 {
		t.Errorf("never told: %v", code)
	}
}

// A resource of a job can be read and tells of new lines, in both eras.
func TestResourceOfAJob(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	s, n := serveTasks(t, setup{})
	flag := s.path("go")
	id := s.mint(modernly(s.runCall(shell(`until [ -e "` + flag + `" ]; do sleep 0.02; done; echo news; sleep 300`))))
	s.running(id)
	uri := "belfry://jobs/" + id + "/output"
	_, err := s.Call(s.within(), "resources/subscribe", args{"uri": uri}, nil)
	s.must(err)
	_, err = s.SendID(`"l"`, "subscriptions/listen", modernly(args{"notifications": args{"resourceSubscriptions": []string{uri}}}))
	s.must(err)
	n.wait(s, 1, func(n notice) bool { return strings.HasSuffix(n.method, "acknowledged") })
	s.must(os.WriteFile(flag, nil, 0o644))
	n.wait(s, 2, func(n notice) bool { return n.method == "notifications/resources/updated" && n.params.URI == uri })
	var read struct {
		Contents []struct{ URI, MimeType, Text string }
	}
	_, err = s.Call(s.within(), "resources/read", args{"uri": uri}, &read)
	s.must(err)
	if len(read.Contents) != 1 || read.Contents[0].Text != "news\n" || read.Contents[0].MimeType != "text/plain" {
		t.Errorf("read %+v", read)
	}
	s.kill(id)
}
