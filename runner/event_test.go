package runner

import (
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

// one of each event, with every pointer set in one round and nil in the other.
func samples() []Event {
	hash := strings.Repeat("0a", 32)
	return []Event{
		RunStarted{RunID: "r", Labels: map[string]string{"a": "1"}, RootPID: ptr(7), Mechanism: MechanismCgroupV2,
			AbruptCleanup: AbruptWholeTree, Cwd: ptr("/x"), Command: Command{Argv: []string{"a<b>"}, SHA256: &hash, Hint: ptr("msbuild_node_reuse")}},
		RunStarted{Labels: map[string]string{}, Mechanism: MechanismUnknown, AbruptCleanup: AbruptNone, Command: Command{Redacted: true}},
		MembersSnapshot{Reason: "spawn", Members: []Member{{PID: 1, PPID: ptr(2), Name: ptr("x"), StartTime: ptr("t")}, {PID: 3}}},
		MembersSnapshot{Reason: "interval", ReadError: true, Members: []Member{}},
		RootExited{Outcome: "exited", Code: ptr(3)}, RootExited{Outcome: "signalled", Signal: ptr(9)},
		LimitHit{Limit: "memory", Detail: ptr("no")}, LimitHit{Limit: "unknown"},
		LimitEvidence{Tripped, NotTripped, TripUnsure},
		ResourceSummary{PeakMemory: ptr(int64(1)), CPU: ptr(int64(2)), IORead: ptr(int64(3)), IOWrite: ptr(int64(4)), PeakTasks: ptr(int64(5))},
		ResourceSummary{ReadError: true},
		Timeout{TimeoutMS: 5, Reason: "idle"}, Timeout{TimeoutMS: 5, GraceMS: ptr(int64(0)), Reason: "overall"},
		OutputOverflow{Stream: "stderr", MaxBytes: 1024},
		Cancelled{Source: "sigterm", GraceMS: ptr(int64(5000))}, Killed{Source: "control_kill"},
		CleanupStarted{MembersBefore: 2},
		CleanupFinished{RemainingPIDs: []int{}},
		CleanupFinished{Remaining: 1, RemainingPIDs: []int{4}, SoftTerminate: ptr("signalled"), Shutdown: &Shutdown{SoftStopScope: "whole_tree", SoftSignal: "sent",
			MembersBefore: ptr(1), MembersAfter: ptr(0), DrainedWithinGrace: ptr(true), Escalated: ptr(false), ElapsedMS: ptr(int64(3))}},
		OutputCaptured{Stdout: Captured{Path: "/a", SHA256: hash}, Stderr: Captured{Path: "/b", Bytes: 1, SHA256: hash, Truncated: true, WriteError: true}},
		SpawnFailed{Code: ExitSpawn, Message: "m"}, ContainerFailed{Phase: "create", Code: ExitBackend, Message: "m"},
		RunnerExit{Code: 1, Source: SourceChild, ChildCode: ptr(1)}, RunnerExit{Code: 107, Source: SourceCancelled},
	}
}

func TestEveryEventIsValid(t *testing.T) {
	seen := map[Name]bool{}
	for _, e := range samples() {
		seen[e.Name()] = true
		line, err := Encode(SchemaVersion, time.Unix(1700000000, 123456789), e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(line), "\n") != 1 || !strings.HasSuffix(string(line), "}\n") {
			t.Errorf("not one line: %q", line)
		}
		if !strings.HasPrefix(string(line), `{"schema_version":1,"time":"2023-11-14T22:13:20.123Z","event":"`+string(e.Name())+`","`) {
			t.Errorf("head of %q", line)
		}
		if err := Validate(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(seen) != len(rules()) {
		t.Errorf("%d kinds of events are sampled, the schema has %d", len(seen), len(rules()))
	}
}

func TestValidateRefuses(t *testing.T) {
	const head = `{"schema_version":1,"time":"2026-01-02T03:04:05.678Z","event":`
	good := head + `"killed","source":"control_kill"}`
	if err := Validate([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for line, reason := range map[string]string{
		"":                        "empty",
		"{":                       "not JSON",
		"nonsense":                "not JSON",
		"[]":                      "not a JSON object",
		"{}":                      `no key "event"`,
		good + "x":                "more than one",
		good + "1":                "more than one",
		head + `"party_started"}`: "not in the schema",
		head + `"killed"}`:        "source",
		head + `"killed","source":"control_kill","note":1}`:                   "note",
		head + `"killed","source":"control_kill","source":"control_kill"}`:    "twice",
		head + `"killed","source":"magic"}`:                                   "magic",
		head + `"runner_exit","code":"0","source":"setup","child_code":null}`: "code",
		strings.Replace(good, "678Z", "678", 1):                               "time",
		strings.Replace(good, "1,", "3,", 1):                                  "schema_version",
		strings.Replace(good, "control_kill", "\xff", 1):                      "UTF-8",
		strings.Repeat(" ", MaxLine) + good:                                   "longer",
	} {
		err := Validate([]byte(line))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.120q: %v, want %q", line, err, reason)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, e := range samples() {
		line, _ := Encode(SchemaVersion, time.Unix(0, 0), e)
		f.Add(line)
	}
	f.Add([]byte(`{"event":{"event":[]},"event":1}`))
	f.Fuzz(func(t *testing.T, line []byte) { _ = Validate(line) }) // never panics
}
