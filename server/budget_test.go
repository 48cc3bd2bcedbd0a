package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
	"github.com/belfry-dev/belfry/sys"
)

// What polling costs a model: bytes of structuredContent.
func TestQuietSizes(t *testing.T) {
	quiet := job.Snapshot{ID: testID, State: job.Running, Label: "job " + testID, Command: "sleep",
		Created: testTime, Spawned: at(time.Millisecond), IdentityCapture: "captured",
		Identity: &job.Identity{PID: 4194303, Kind: job.BirthStartTicks, Birth: 9_999_999_999},
	}
	for _, g := range []job.Guarantee{
		{Mechanism: "cgroup_v2", Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "tree_on_restart"},
		{Mechanism: "pid_namespace", Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "tree"},
		{Mechanism: "process_group", Kill: "group", LeaderExit: "group", SupervisorDeath: "group", HelperDeath: "none"},
		{Mechanism: "subreaper", Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "leader"},
		{Mechanism: "job_object", Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "tree"},
	} {
		quiet.Guarantee = &g
		o := newObject(0)
		o.record(&quiet)
		o.process(&quiet)
		if n := len(o.close()); n > 600 {
			t.Errorf("status of a quiet job in %s takes %d bytes, more than 600: %s", g.Mechanism, n, o.b)
		}
	}

	var p job.Page
	if r := pageReply(&p, job.SelBoth); len(r.Structured) > 120 {
		t.Errorf("an empty read takes %d bytes, more than 120", len(r.Structured))
	}

	jobs := make([]job.Snapshot, 50)
	for i := range jobs {
		jobs[i] = quiet
		if i >= 8 {
			jobs[i].State, jobs[i].QueuePosition = job.Starting, i-7
		}
	}
	if n := len(listReply(jobs, 8, false).Structured); n > 9<<10 {
		t.Errorf("a list of 50 jobs takes %d bytes, more than %d", n, 9<<10)
	}
}

// nasty are lines whose encoded size differs from their length.
func nasty() string {
	var b strings.Builder
	for i := range 300 {
		switch i % 6 {
		case 0:
			fmt.Fprintf(&b, "plain line %d\n", i)
		case 1:
			b.WriteString("\x00\x01\b\f\t\"\\\x1b[31m<&>\r\n")
		case 2:
			b.WriteString("é漢😀 \u2028 \xff\xfe\n")
		case 3:
			b.WriteString(strings.Repeat("\"", i) + "\n")
		case 4:
			b.WriteString("\n")
		case 5:
			b.WriteString(strings.Repeat("long ", 10*i) + "\n")
		}
	}
	return b.String()
}

// A page is never above its budget, never leaves room for another line, and
// reading on from it loses nothing.
func TestPagesFillTheirBudget(t *testing.T) {
	text := nasty()
	th := newTheatre(t, func(p *puppet, _ sys.Spec) {
		go func() {
			p.print(p.out, text)
			p.leave(0, 0)
		}()
	}, nil)
	id := th.run("")
	th.ended(id)
	all := readAll(t, th, id, 64<<20, `,"timestamps":true`)
	if len(all) != 300 {
		t.Fatalf("%d lines, want 300", len(all))
	}
	for _, budget := range []int{512, 600, 777, 1000, 2048, 12288, 20000} {
		for _, opts := range []string{"", `,"timestamps":true`, `,"stream":"stdout"`} {
			got := readAll(t, th, id, budget, opts)
			for i, e := range got {
				want := all[i]
				if e["clipped"] == true {
					whole := want["text"].(string)
					if !strings.HasPrefix(whole, e["text"].(string)) || e["text_bytes"] != float64(len(whole)) {
						t.Errorf("budget %d: line %d is %v", budget, i, e)
					}
				} else if e["text"] != want["text"] {
					t.Errorf("budget %d: line %d is %v, want %v", budget, i, e, want)
				}
			}
			if len(got) != len(all) {
				t.Errorf("budget %d%s: %d lines, want %d", budget, opts, len(got), len(all))
			}
			r := th.raw("tail", fmt.Sprintf(`{"job_id":%q,"lines":300,"max_bytes":%d%s}`, id, budget, opts))
			if m := payload(t, r); len(r.Structured) > budget || m["truncated"] != true || m["next_cursor"] != 300.0 {
				t.Errorf("budget %d: the tail takes %d bytes", budget, len(r.Structured))
			}
		}
	}
}

// readAll pages through a job's output and holds every page to its budget.
func readAll(t *testing.T, th *theatre, id string, budget int, opts string) (events []map[string]any) {
	t.Helper()
	const slack = len(`,"truncated":true`) + 3 // what is reserved for a cut, and digits of the cursor
	var cursor float64
	for page := 0; ; page++ {
		r := th.raw("output", fmt.Sprintf(`{"job_id":%q,"after_cursor":%.0f,"max_bytes":%d%s}`, id, cursor, budget, opts))
		m := payload(t, r)
		if len(r.Structured) > budget {
			t.Errorf("page %d of budget %d takes %d bytes: %s", page, budget, len(r.Structured), r.Structured)
		}
		for _, e := range m["events"].([]any) {
			events = append(events, e.(map[string]any))
		}
		if m["truncated"] != true {
			return events
		}
		if m["next_cursor"].(float64) <= cursor || m["next_cursor"] != events[len(events)-1]["seq"] {
			t.Fatalf("page %d does not go on from %v: %s", page, cursor, r.Structured)
		}
		cursor = m["next_cursor"].(float64)
		room := budget - len(r.Structured) - slack
		next := payload(t, th.raw("output", fmt.Sprintf(`{"job_id":%q,"after_cursor":%.0f,"limit":1,"max_bytes":67108864%s}`, id, cursor, opts)))
		if e := encoded(t, next["events"].([]any)[0]); len(e)+1 <= room {
			t.Errorf("page %d of budget %d leaves %d bytes, enough for %s", page, budget, room, e)
		}
	}
}

// Whatever follow tells of the job beside the lines counts too.
func TestFollowFitsItsBudget(t *testing.T) {
	text := nasty()
	th := newTheatre(t, func(p *puppet, _ sys.Spec) { go p.print(p.out, text) }, nil)
	id := th.run(`,"label":"` + strings.Repeat(`\"`, 64) + `"`)
	j, _ := th.store.Get(id)
	waitLines(t, j, 300)
	for _, budget := range []int{2000, 4096, 12288, 30000} {
		r := th.raw("follow", fmt.Sprintf(`{"job_id":%q,"cursor":0,"max_bytes":%d}`, id, budget))
		if m := payload(t, r); len(r.Structured) > budget || len(r.Structured) < budget/2 || m["truncated"] != true || m["reason"] != "output" {
			t.Errorf("budget %d: %d bytes, %.200s", budget, len(r.Structured), r.Structured)
		}
	}
}

// From 1,024 bytes on the budget holds whatever the record says, and a line of
// the output is in each reply that has one to give.
func TestFollowHoldsASmallBudget(t *testing.T) {
	nasty := strings.Repeat("\x01\u2028\"", 700)
	code := -2147483648
	yes := true
	use := job.Usage{CPU: 1 << 60, PeakMemory: 1 << 60, IORead: 1 << 60, IOWrite: 1 << 60, PeakProcesses: 1 << 30}
	counts := [2]job.Stat{{Lines: 1 << 40, Bytes: 1 << 50, Pending: 1 << 20}, {Lines: 1 << 40, Bytes: 1 << 50, Pending: 1 << 20}}
	running := job.Snapshot{ID: testID, State: job.Running, Label: strings.Repeat("\u2028", 64), Command: nasty[:255],
		Created: testTime, Spawned: testTime, IdentityCapture: "captured", Stopped: true, Usage: &use, Counts: counts,
		Ending: &job.Ending{By: job.ByShutdown, Since: 1 << 40, Step: job.StepDrain}}
	ended := running
	ended.State, ended.Ended, ended.ExitCode, ended.Signal, ended.EndedBy = job.Killed, testTime, &code, job.QueueDrained, job.ByQueueCancelled
	ended.KillConfirmed, ended.IdentityConfirmed, ended.Drained, ended.Ending = &yes, &yes, &yes, nil
	ended.LeaderExit = &job.LeaderExit{Signal: "SIGRTMIN+12", At: testTime}
	ended.Survivors = make([]job.Member, 200)
	refused := job.Snapshot{ID: testID, State: job.Failed, Label: running.Label, Command: running.Command,
		Created: testTime, Ended: testTime, EndedBy: job.BySpawnFailed,
		Diagnostic: &job.Diagnostic{Reason: job.ReasonSpawn, Code: "cwd_outside_roots", Message: nasty}}

	long := strings.Repeat("漢\x02", 500)
	printing := newTheatre(t, func(p *puppet, _ sys.Spec) {
		p.print(p.out, strings.Repeat(long+"\n", 3)+long)
		p.print(p.err, long+"\n"+long)
	}, nil)
	lines, _ := printing.store.Get(printing.run(""))
	waitLines(t, lines, 4)
	silent, _ := printing.store.Get(printing.call("run", `{"command":["no-such-program-anywhere"]}`)["job_id"].(string))
	fits := validator(t, followOutput)
	for name, c := range map[string]struct {
		snap *job.Snapshot
		job  *job.Job
		most int
	}{
		"running": {&running, lines, 1}, "ended": {&ended, lines, 1}, "refused": {&refused, silent, 0},
	} {
		for _, budget := range []int{1024, 1100, 1500, 2048, 4096} {
			f := &following{job: c.job, wait: maxFollow}
			for _, f.query.Pending = range []bool{false, true} {
				f.query.Sel, f.query.Budget, f.query.Timestamps = job.SelBoth, budget, true
				r, ok := printing.replyOf(f, c.snap, job.CauseOutput)
				if !ok || len(r.Structured) > budget {
					t.Errorf("%s, budget %d: %t, %d bytes: %s", name, budget, ok, len(r.Structured), r.Structured)
				}
				m := payload(t, r)
				if n := len(m["events"].([]any)); n < c.most || m["job_id"] != testID || (m["counts"] == nil) != (m["note"] == briefNote) {
					t.Errorf("%s, budget %d: %s", name, budget, r.Structured)
				}
				if f.query.Pending && c.most > 0 && m["pending"] == nil {
					t.Errorf("%s, budget %d: no pending text in %s", name, budget, r.Structured)
				}
				fits(name, string(r.Structured))
			}
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "…"}, {"abcde", 4, "a…"}, {"漢漢漢", 9, "漢漢漢"},
		{"漢漢漢", 8, "漢…"}, {"a\x01b", 8, "a\x01b"}, {"a\x01bc", 8, "a…"}, {"\xff\xff", 12, "\xff\xff"}, {"\xff\xff", 11, "\xff…"},
	} {
		got := shorten(c.text, c.most)
		if got != c.want || len(wire.AppendString(nil, got)) > c.most+len(`""`) {
			t.Errorf("%q to %d bytes is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// A budget that the record alone goes beyond still gives a line a call.
func TestFollowBeyondItsBudget(t *testing.T) {
	th := newTheatre(t, func(p *puppet, _ sys.Spec) {
		go func() {
			p.print(p.out, strings.Repeat(strings.Repeat("x", 1000)+"\n", 3))
			p.leave(0, 0)
		}()
	}, nil)
	id := th.run("")
	th.ended(id)
	for cursor := range 3 {
		m := th.call("follow", fmt.Sprintf(`{"job_id":%q,"cursor":%d,"max_bytes":512}`, id, cursor))
		events := m["events"].([]any)
		if len(events) != 1 || m["next_cursor"] != float64(cursor+1) || (m["truncated"] == true) != (cursor < 2) {
			t.Fatalf("from %d: %v", cursor, m)
		}
		if e := events[0].(map[string]any); e["clipped"] != true || e["text_bytes"] != 1000.0 {
			t.Errorf("from %d: %v", cursor, e)
		}
	}
}

func waitLines(t testing.TB, j *job.Job, n uint64) {
	t.Helper()
	for j.Head(job.SelBoth) < n {
		if c := j.Follow(t.Context(), j.Head(job.SelBoth), job.SelBoth, time.Minute); c != job.CauseOutput {
			t.Fatalf("waiting for line %d ended with cause %d", n, c)
		}
	}
}

// What the pages look like that say more than lines.
func TestPageMembers(t *testing.T) {
	fits := validator(t, pageOutput)
	line := job.Line{Seq: 7, Kind: job.Stderr, Text: "x"}
	full := job.Line{Seq: 8, Text: "y", Partial: true, Clipped: true, TextBytes: 99, Time: testTime}
	lost := [2]job.Loss{{Dropped: 3, FirstKept: 4}, {Dropped: 5, FirstKept: 6}}
	for _, c := range []struct {
		page job.Page
		sel  job.Sel
		want string
	}{
		{job.Page{Next: 9}, job.SelBoth, `{"events":[],"next_cursor":9}`},
		{job.Page{Lines: []job.Line{line, full}, Next: 8}, job.SelBoth,
			`{"events":[{"seq":7,"stream":"stderr","text":"x"},{"seq":8,"stream":"stdout","text":"y","partial":true,"clipped":true,"text_bytes":99,` +
				`"time":"2026-07-28T10:20:30.456Z"}],"next_cursor":8}`},
		{job.Page{Next: 9, Truncated: true, Loss: lost}, job.SelBoth,
			`{"events":[],"next_cursor":9,"truncated":true,"dropped":{"stdout":{"dropped":3,"droppedBeforeCursor":4},"stderr":{"dropped":5,"droppedBeforeCursor":6}}}`},
		{job.Page{Next: 9, Truncated: true, Loss: [2]job.Loss{{}, lost[1]}}, job.SelBoth,
			`{"events":[],"next_cursor":9,"truncated":true,"dropped":{"stderr":{"dropped":5,"droppedBeforeCursor":6}}}`},
		{job.Page{Next: 9, Truncated: true, Loss: [2]job.Loss{lost[0], {}}}, job.SelStdout,
			`{"events":[],"next_cursor":9,"truncated":true,"dropped":3,"droppedBeforeCursor":4}`},
		{job.Page{Next: 9, Truncated: true, Loss: [2]job.Loss{{}, lost[1]}}, job.SelStderr,
			`{"events":[],"next_cursor":9,"truncated":true,"dropped":5,"droppedBeforeCursor":6}`},
		{job.Page{Next: 0, Pending: [2]string{"", "more? "}}, job.SelBoth, `{"events":[],"next_cursor":0,"pending":{"stderr":"more? "}}`},
		{job.Page{Next: 0, Pending: [2]string{"a", "b"}}, job.SelBoth, `{"events":[],"next_cursor":0,"pending":{"stdout":"a","stderr":"b"}}`},
	} {
		r := pageReply(&c.page, c.sel)
		if got := string(r.Structured); got != c.want || !json.Valid(r.Structured) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		fits(c.want, string(r.Structured))
	}
}
