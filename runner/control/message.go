package control

import (
	"bytes"
	"encoding/json"
)

// The verbs of the protocol. An empty line is inspect.
const (
	verbInspect = "inspect"
	verbCancel  = "cancel"
	verbKill    = "kill"
	verbAttest  = "attest"
	verbSignal  = "signal" // NAME [MILLISECONDS]
	verbWatch   = "watch"

	// These take a JSON object behind the word, and their answer has any number
	// of lines.
	verbJobs = "jobs"
	verbLogs = "logs"
	verbStop = "stop"
)

const (
	// snapshotVersion is what this runner tells, and the newest that is read.
	snapshotVersion = 2
	attestVersion   = 1

	// maxLine is the most bytes of a line in either direction, its end included.
	maxLine = 64 << 10
)

// Member is one process of a run's tree.
type Member struct {
	PID       int     `json:"pid"`
	PPID      *int    `json:"ppid"`
	Name      *string `json:"name"`
	StartTime *string `json:"start_time"` // an opaque birth stamp
}

// Snapshot is what inspect tells of a run.
type Snapshot struct {
	Version    int      `json:"snapshot_version"`
	RunID      string   `json:"run_id"`
	Mechanism  string   `json:"mechanism"`
	RootPID    *int     `json:"root_pid"` // null before the program was started
	StartedAt  string   `json:"started_at"`
	JSONL      *string  `json:"jsonl"`
	CaptureDir *string  `json:"capture_dir"`
	Members    []Member `json:"members"`
}

// Ack is the answer to cancel, kill, signal and watch. After the first two the
// run will end, and has not yet.
type Ack struct {
	Accepted bool   `json:"accepted"`
	Action   string `json:"action"` // the verb
	RunID    string `json:"run_id"`
}

// The verdicts of an attestation.
const (
	Inside  = "member"
	Outside = "not_a_member"
	NoPeer  = "peer_identity_unsupported"
)

// Attestation tells whether the process that asked is in the run's tree. The
// runner decides by the process that the kernel names, never by a claim.
type Attestation struct {
	Version   int    `json:"attestation_version"`
	RunID     string `json:"run_id"`
	Verdict   string `json:"verdict"`
	PeerPID   *int   `json:"peer_pid"` // null with peer_identity_unsupported
	Mechanism string `json:"mechanism"`
	CheckedAt string `json:"checked_at"`
}

// refusal is the answer to what cannot be answered otherwise.
type refusal struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // codeNoJob, or nothing more is known
}

const codeNoJob = "not_found"

// encode is one line of JSON; what is too long for one becomes a refusal.
func encode(v any) []byte { return encodeUpTo(maxLine, v) }

func encodeUpTo(most int, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return encode(refusal{Error: "the answer cannot be told: " + err.Error()})
	}
	if b.Len() > most {
		return encode(refusal{Error: "the answer is longer than a line may be"})
	}
	return b.Bytes()
}
