package server

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
)

const testID = "6f1d2c3b-0a9e-4d5c-8b7a-123456789abc"

var testTime = time.Date(2026, 7, 28, 10, 20, 30, 456_000_000, time.UTC)

func at(d time.Duration) time.Time { return testTime.Add(d) }

func ptr[T any](v T) *T { return &v }

// records are snapshots of every state with what status writes of them. The
// first member and the counts of a silent job stand for themselves.
var records = []struct {
	name string
	snap job.Snapshot
	want string
}{
	{"queued", job.Snapshot{State: job.Starting, QueuePosition: 2, Label: "a \"b\" <c>", Command: "make"},
		`"state":"starting","started_at":"2026-07-28T10:20:30.456Z","queue_position":2,"command_summary":"make","label":"a \"b\" <c>",COUNTS`},
	{"spawning", job.Snapshot{State: job.Starting, Label: "", Command: "(shell)", IdentityCapture: "pending"},
		`"state":"starting","started_at":"2026-07-28T10:20:30.456Z","command_summary":"(shell)","label":"",COUNTS,"identity_capture":"pending","birth_identity":{"state":"pending"}`},
	{"running", job.Snapshot{State: job.Running, Label: "x", Command: "go", Spawned: at(time.Millisecond),
		Identity: &job.Identity{PID: 12, Kind: job.BirthStartTicks, Birth: 34}, IdentityCapture: "captured", Stopped: true,
		Counts:    [2]job.Stat{{Lines: 3, Bytes: 30, Pending: 4}, {Lines: 5, Bytes: 50, Pending: 6}},
		Guarantee: &job.Guarantee{Mechanism: "cgroup_v2", Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "tree_on_restart"}},
		`"state":"running","started_at":"2026-07-28T10:20:30.456Z","command_summary":"go","label":"x",` +
			`"counts":{"stdout_lines":3,"stdout_bytes":30,"stderr_lines":5,"stderr_bytes":50,"stdout_pending_bytes":4,"stderr_pending_bytes":6},` +
			`"identity_capture":"captured","spawned_at":"2026-07-28T10:20:30.457Z","stopped":true,"pid":12,` +
			`"birth_identity":{"state":"captured","identity":{"platform":"linux-starttime-ticks","startTimeTicks":"34"}},"mechanism":"cgroup_v2",` +
			`"guarantee":{"kill":"tree","leader_exit":"tree","supervisor_death":"tree","helper_death":"tree_on_restart"}`},
	{"ending", job.Snapshot{State: job.Running, Label: "x", Command: "go",
		Ending:     &job.Ending{By: job.ByKill, Since: at(time.Second).UnixMilli(), Step: job.StepSoft},
		LeaderExit: &job.LeaderExit{Code: ptr(0), At: at(2 * time.Second)},
		Identity:   &job.Identity{PID: 12, Kind: job.BirthStartMicros, Birth: 34}, IdentityCapture: "captured"},
		`"state":"running","started_at":"2026-07-28T10:20:30.456Z","command_summary":"go","label":"x",COUNTS,"identity_capture":"captured",` +
			`"ending":{"by":"kill","since":"2026-07-28T10:20:31.456Z","step":"soft"},"leader_exit":{"code":0,"at":"2026-07-28T10:20:32.456Z"},"pid":12,` +
			`"birth_identity":{"state":"captured","identity":{"platform":"darwin-starttime-micros","startTimeMicros":"34"}}`},
	{"exited", job.Snapshot{State: job.Exited, Label: "x", Command: "go", Spawned: at(0), Ended: at(1500 * time.Millisecond),
		ExitCode: ptr(0), EndedBy: job.ByExit, KillConfirmed: ptr(true),
		Usage:    &job.Usage{CPU: 1500 * time.Microsecond, PeakMemory: 4096, IORead: 0, IOWrite: -1, PeakProcesses: 1},
		Identity: &job.Identity{PID: 12, Kind: job.BirthFiletime, Birth: 34}, IdentityCapture: "captured"},
		`"state":"exited","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:31.956Z","exit_code":0,"ended_by":"exit",` +
			`"command_summary":"go","label":"x",COUNTS,"kill_confirmed":true,"identity_capture":"captured",` +
			`"spawned_at":"2026-07-28T10:20:30.456Z","duration_ms":1500,"usage":{"cpu_ms":1,"peak_memory_bytes":4096,"io_read_bytes":0,"peak_processes":1},` +
			`"pid":12,"birth_identity":{"state":"captured","identity":{"platform":"windows-creation-filetime","creationFileTime":"34"}}`},
	{"killed", job.Snapshot{State: job.Killed, Label: "x", Command: "go", Spawned: at(0), Ended: at(time.Second),
		Signal: "SIGKILL", EndedBy: job.ByKill, KillConfirmed: ptr(false), IdentityConfirmed: ptr(true), Drained: ptr(false),
		LeaderExit: &job.LeaderExit{Signal: "SIGTERM", At: at(0)},
		Usage:      &job.Usage{CPU: -1, PeakMemory: -1, IORead: -1, IOWrite: -1, PeakProcesses: -1},
		Survivors:  []job.Member{{PID: 7, Command: "a\"b"}, {PID: 8, Command: ""}},
		Identity:   &job.Identity{PID: 12}, IdentityCapture: "unavailable"},
		`"state":"killed","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:31.456Z","signal":"SIGKILL","ended_by":"kill",` +
			`"command_summary":"go","label":"x",COUNTS,"kill_confirmed":false,"identity_confirmed":true,"identity_capture":"unavailable",` +
			`"spawned_at":"2026-07-28T10:20:30.456Z","duration_ms":1000,"leader_exit":{"signal":"SIGTERM","at":"2026-07-28T10:20:30.456Z"},` +
			`"drained":false,"survivors":[{"pid":7,"command":"a\"b"},{"pid":8,"command":""}],"pid":12,"birth_identity":{"state":"unavailable"}`},
	{"ended for want of memory", job.Snapshot{State: job.Killed, Label: "x", Command: "go", Ended: at(0), Signal: "SIGKILL",
		EndedBy: job.ByMemory, Limits: []job.LimitRecord{{Limit: "memory_bytes", Applied: 4096, Enforced: true}, {Limit: "cpus", Applied: 0.5, Enforced: true}},
		Evidence: &job.LimitEvidence{Memory: "tripped", Tasks: "not_tripped", CPUs: "not_tripped", MemoryKills: 1}},
		`"state":"killed","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:30.456Z","signal":"SIGKILL","ended_by":"memory",` +
			`"command_summary":"go","label":"x",COUNTS,"limit_evidence":{"memory_bytes":"tripped","cpus":"not_tripped"},` +
			`"limits":{"memory_bytes":4096,"cpus":0.5}`},
	{"limit refused", job.Snapshot{State: job.Failed, Label: "x", Command: "go", Ended: at(0), EndedBy: job.BySpawnFailed, KillConfirmed: ptr(true),
		Diagnostic: &job.Diagnostic{Reason: job.ReasonSpawn, Code: "limit_unavailable", Message: "no", Limits: []job.LimitRecord{
			{Limit: "memory_bytes", Requested: 1 << 40, Scope: "tree", Mechanism: "cgroup_v2", Reason: "cgroup1_only", Detail: "d", Remedy: "r"},
			{Limit: "cpus", Requested: 0.5, Applied: 0.5, Enforced: true, Scope: "tree", Mechanism: "cgroup_v2"}}}},
		`"state":"failed","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:30.456Z","ended_by":"spawn_failed",` +
			`"diagnostic":{"reason":"spawn-error","code":"limit_unavailable","message":"no","limits":[` +
			`{"limit":"memory_bytes","requested":1099511627776,"enforced":false,"scope":"tree","mechanism":"cgroup_v2","reason":"cgroup1_only","detail":"d","remedy":"r"},` +
			`{"limit":"cpus","requested":0.5,"applied":0.5,"enforced":true,"scope":"tree","mechanism":"cgroup_v2"}]},` +
			`"command_summary":"go","label":"x",COUNTS,"kill_confirmed":true`},
	{"queue cancelled", job.Snapshot{State: job.Killed, Label: "x", Command: "go", Ended: at(0), Signal: job.QueueCancelled,
		EndedBy: job.ByQueueCancelled, KillConfirmed: ptr(true)},
		`"state":"killed","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:30.456Z","signal":"queue-cancelled",` +
			`"ended_by":"queue_cancelled","command_summary":"go","label":"x",COUNTS,"kill_confirmed":true`},
	{"born failed", job.Snapshot{State: job.Failed, Label: "x", Command: "go", Ended: at(0), EndedBy: job.ByPolicyDenied, KillConfirmed: ptr(true),
		Diagnostic: &job.Diagnostic{Reason: job.ReasonPolicy, Code: "policy_denied", Message: "no\nway"}},
		`"state":"failed","started_at":"2026-07-28T10:20:30.456Z","ended_at":"2026-07-28T10:20:30.456Z","ended_by":"policy_denied",` +
			`"diagnostic":{"reason":"policy-denied","code":"policy_denied","message":"no\nway"},"command_summary":"go","label":"x",COUNTS,"kill_confirmed":true`},
}

func TestRecord(t *testing.T) {
	fits := validator(t, statusOutput)
	for _, c := range records {
		c.snap.ID, c.snap.Created = testID, testTime
		o := newObject(0)
		o.record(&c.snap)
		o.process(&c.snap)
		got := string(o.close())
		want := `{"job_id":"` + testID + `",` + strings.Replace(c.want, "COUNTS",
			`"counts":{"stdout_lines":0,"stdout_bytes":0,"stderr_lines":0,"stderr_bytes":0}`, 1) + `}`
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
		fits(c.name, got)
	}
}

func TestListReply(t *testing.T) {
	jobs := make([]job.Snapshot, 0, len(records))
	for _, c := range records {
		c.snap.ID, c.snap.Created = testID, testTime
		jobs = append(jobs, c.snap)
	}
	fits := validator(t, listOutput)
	r := listReply(jobs[:1], 8, true)
	const one = `[{"job_id":"` + testID + `","label":"a \"b\" <c>","state":"starting","started_at":"2026-07-28T10:20:30.456Z","queue_position":2}]`
	if got, want := string(r.Structured), `{"jobs":`+one+`,"concurrency_cap":8,"truncated":true}`; got != want || r.Text != one {
		t.Errorf("got %s and %s, want %s and %s", got, r.Text, want, one)
	}
	r = listReply(jobs, 8, false)
	fits("all states", string(r.Structured))
	for _, want := range []string{
		`"state":"exited","started_at":"2026-07-28T10:20:30.456Z","exit_code":0,"ended_by":"exit","ended_at":"2026-07-28T10:20:31.956Z"}`,
		`"state":"killed","started_at":"2026-07-28T10:20:30.456Z","signal":"SIGKILL","ended_by":"kill","ended_at":"2026-07-28T10:20:31.456Z"}`,
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%s lacks %s", r.Text, want)
		}
	}
	if r := listReply(nil, 0, false); string(r.Structured) != `{"jobs":[],"concurrency_cap":0}` || r.Text != "[]" {
		t.Errorf("an empty list is %s and %s", r.Structured, r.Text)
	}
}
