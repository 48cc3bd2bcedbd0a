package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

func TestTaskForms(t *testing.T) {
	lines := [2]job.Stat{{Lines: 1200, Bytes: 30}, {Lines: 4, Bytes: 5}}
	const counts = `"output":{"stdout_lines":1200,"stdout_bytes":30,"stderr_lines":4,"stderr_bytes":5}`
	running := job.Snapshot{State: job.Running, Spawned: at(time.Second), Counts: lines}
	ending := running
	ending.Ending = &job.Ending{By: job.ByKill, Step: job.StepSoft}
	left := running
	left.LeaderExit = &job.LeaderExit{Code: ptr(0), At: at(3 * time.Second)}
	ended := func(edit func(*job.Snapshot)) job.Snapshot {
		s := running
		s.Ended = at(5 * time.Second)
		edit(&s)
		return s
	}
	exited := ended(func(s *job.Snapshot) { s.State, s.ExitCode = job.Exited, ptr(3) })
	killed := ended(func(s *job.Snapshot) { s.State, s.Signal = job.Killed, "SIGTERM" })
	failed := ended(func(s *job.Snapshot) {
		s.State, s.Diagnostic = job.Failed, &job.Diagnostic{Reason: job.ReasonRuntime, Code: "deadline", Message: "took over 7 ms"}
	})
	srv := &Server{}
	for _, c := range []struct {
		name   string
		snap   job.Snapshot
		era    wire.Era
		quiet  time.Time
		head   string // from status to pollIntervalMs
		member string // what follows: result, error or neither
		parts  string // of that member
	}{
		{"queued", job.Snapshot{State: job.Starting, QueuePosition: 3}, wire.Modern, time.Time{},
			`"status":"working","statusMessage":"queued, place 3","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:30.456Z","ttlMs":null`, "", ""},
		{"starting", job.Snapshot{State: job.Starting}, wire.Legacy, time.Time{},
			`"status":"working","statusMessage":"starting, 0 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:30.456Z","ttlMs":null`, "", ""},
		{"running", running, wire.Modern, time.Time{},
			`"status":"working","statusMessage":"running, 1,204 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:31.456Z","ttlMs":null`, "", ""},
		{"too fast", running, wire.Legacy, at(time.Second),
			`"status":"working","statusMessage":"running, 1,204 lines; output came too fast to be pushed, read it with output or tail",` +
				`"createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:31.456Z","ttlMs":null`, "", ""},
		{"ending", ending, wire.Modern, time.Time{},
			`"status":"working","statusMessage":"ending, 1,204 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:31.456Z","ttlMs":null`, "", ""},
		{"leader gone", left, wire.Modern, time.Time{},
			`"status":"working","statusMessage":"running, 1,204 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:33.456Z","ttlMs":null`, "", ""},
		{"exited", exited, wire.Modern, time.Time{},
			`"status":"completed","statusMessage":"exited with code 3, 1,204 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:35.456Z","ttlMs":86405000`,
			"result", `,"isError":true,"exitCode":3,` + counts},
		{"exited after a flood", exited, wire.Legacy, at(time.Second),
			`"status":"completed","statusMessage":"exited with code 3, 1,204 lines; output came too fast to be pushed, read it with output or tail",` +
				`"createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:35.456Z","ttlMs":86405000`,
			"result", `,"isError":true,"exitCode":3,` + counts + `,"watchStopped":{"reason":"firehose","stoppedAt":"2026-07-28T10:20:31.456Z"}`},
		{"killed", killed, wire.Modern, time.Time{},
			`"status":"cancelled","statusMessage":"killed, SIGTERM, 1,204 lines","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:35.456Z","ttlMs":86405000`, "", ""},
		{"failed, legacy", failed, wire.Legacy, time.Time{},
			`"status":"failed","statusMessage":"failed: took over 7 ms","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:35.456Z","ttlMs":86405000`,
			"error", `{"code":-32603,"message":"took over 7 ms",` + counts},
		{"failed, modern", failed, wire.Modern, time.Time{},
			`"status":"completed","statusMessage":"failed: took over 7 ms","createdAt":"2026-07-28T10:20:30.456Z","lastUpdatedAt":"2026-07-28T10:20:35.456Z","ttlMs":86405000`,
			"result", `,"isError":true,` + counts},
	} {
		c.snap.ID, c.snap.Created, c.snap.Label, c.snap.Command = testID, at(0), "x", "go"
		got := string(srv.detail(&c.snap, c.era, c.quiet))
		want := `{"taskId":"` + testID + `",` + c.head + `,"pollIntervalMs":500`
		switch c.member {
		case "result":
			o := newObject(0)
			o.record(&c.snap)
			payload := o.close()
			text, _ := json.Marshal(string(payload))
			want += `,"result":{"resultType":"complete","content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` +
				string(payload) + c.parts + `}`
		case "error":
			want += `,"error":` + c.parts + `}`
		}
		if want += "}"; got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
