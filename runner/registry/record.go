package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner/value"
)

const (
	recordVersion = 1
	lockKind      = "advisory_lock"

	// MaxRecord is the most bytes that a record may have, for its writer and its
	// readers alike.
	MaxRecord = 65_536

	// timeForm is RFC 3339 in UTC with milliseconds.
	timeForm = "2006-01-02T15:04:05.000Z"
)

// Record is what one run tells of itself. On purpose it holds no process id,
// no argument and no directory. An empty string is told as null.
type Record struct {
	RunID      string
	Endpoint   string    // where the runner is controlled
	StartedAt  time.Time // to the millisecond
	ArgvSHA256 string    // 64 hexadecimal digits in lower case
	Hint       string
	Labels     map[string]string
	JSONL      string // absolute path of the event stream
	CaptureDir string // absolute path
}

// wireRecord is a record as it stands in its file.
type wireRecord struct {
	Version    int               `json:"registry_version"`
	RunID      string            `json:"run_id"`
	Endpoint   *string           `json:"endpoint"`
	StartedAt  string            `json:"started_at"`
	ArgvSHA256 *string           `json:"argv_sha256"`
	Hint       *string           `json:"hint"`
	Labels     map[string]string `json:"labels"`
	JSONL      *string           `json:"jsonl"`
	CaptureDir *string           `json:"capture_dir"`
	Liveness   wireLiveness      `json:"liveness"`
}

type wireLiveness struct {
	Kind     string `json:"kind"`
	LockFile string `json:"lock_file"`
}

// ErrTooLong is returned for a record that no reader would take.
var ErrTooLong = fmt.Errorf("the record has more than %d bytes", MaxRecord)

// encode gives the bytes of the file, in which lock names the lock file.
func (r Record) encode(lock string) ([]byte, error) {
	labels := r.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	data, err := marshal(wireRecord{
		Version:    recordVersion,
		RunID:      r.RunID,
		Endpoint:   null(r.Endpoint),
		StartedAt:  FormatTime(r.StartedAt),
		ArgvSHA256: null(r.ArgvSHA256),
		Hint:       null(r.Hint),
		Labels:     labels,
		JSONL:      null(r.JSONL),
		CaptureDir: null(r.CaptureDir),
		Liveness:   wireLiveness{Kind: lockKind, LockFile: lock},
	})
	if err == nil && len(data) > MaxRecord {
		err = ErrTooLong
	}
	return data, err
}

// parseRecord reads a record and the name of its lock file. What cannot be
// trusted as a whole is an error; a bad fingerprint, hint or label is dropped
// alone, and fields that are not known are passed over.
func parseRecord(data []byte) (Record, string, error) {
	if len(data) > MaxRecord {
		return Record{}, "", ErrTooLong
	}
	var w struct {
		Version    int                        `json:"registry_version"`
		RunID      *string                    `json:"run_id"`
		Endpoint   *string                    `json:"endpoint"`
		StartedAt  string                     `json:"started_at"`
		ArgvSHA256 json.RawMessage            `json:"argv_sha256"`
		Hint       json.RawMessage            `json:"hint"`
		Labels     map[string]json.RawMessage `json:"labels"`
		JSONL      *string                    `json:"jsonl"`
		CaptureDir *string                    `json:"capture_dir"`
		Liveness   wireLiveness               `json:"liveness"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return Record{}, "", err
	}
	started, err := ParseTime(w.StartedAt)
	switch {
	case w.Version != recordVersion:
		return Record{}, "", fmt.Errorf("registry_version %d is not %d", w.Version, recordVersion)
	case w.RunID == nil:
		return Record{}, "", errors.New("run_id is missing")
	case err != nil:
		return Record{}, "", err
	case w.Liveness.Kind != lockKind:
		return Record{}, "", fmt.Errorf("liveness kind %q is not known", w.Liveness.Kind)
	case !plainLockName(w.Liveness.LockFile):
		return Record{}, "", fmt.Errorf("lock_file %q is not the plain name of a lock file", w.Liveness.LockFile)
	}
	r := Record{
		RunID:      *w.RunID,
		Endpoint:   text(w.Endpoint),
		StartedAt:  started,
		ArgvSHA256: knownText(w.ArgvSHA256, isSHA256),
		Hint:       knownText(w.Hint, isHint),
		Labels:     map[string]string{},
		JSONL:      text(w.JSONL),
		CaptureDir: text(w.CaptureDir),
	}
	for k, raw := range w.Labels {
		var v string
		if json.Unmarshal(raw, &v) == nil && value.CheckLabel(k, v) == nil {
			r.Labels[k] = v
		}
	}
	return r, w.Liveness.LockFile, nil
}

// hints is the closed catalogue of what a record may be marked as.
var hints = map[string]bool{"msbuild_node_reuse": true}

func isHint(s string) bool { return hints[s] }

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// knownText is a JSON string that ok accepts, or "".
func knownText(raw json.RawMessage, ok func(string) bool) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || !ok(s) {
		return ""
	}
	return s
}

// FormatTime is the form of every time in records and outputs: RFC 3339, UTC,
// milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(timeForm) }

// ParseTime reads FormatTime's form, of exactly 24 characters, and no other.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeForm, s)
	if err != nil || len(s) != len(timeForm) {
		return time.Time{}, fmt.Errorf("%q is not a time of the form %s", s, timeForm)
	}
	return t, nil
}

// plainLockName keeps a record from naming a file elsewhere, a stream of one,
// or a device.
func plainLockName(name string) bool {
	stem, ok := strings.CutSuffix(name, ".lock")
	if !ok || stem == "" || len(name) > 255 || stem[0] == '.' {
		return false
	}
	for _, c := range name {
		if c < ' ' || c == 0x7F || strings.ContainsRune(`/\:*?"<>|`, c) {
			return false
		}
	}
	base, _, _ := strings.Cut(stem, ".")
	return !deviceName(strings.TrimRight(strings.ToUpper(base), " "))
}

// deviceName reports a name that Windows gives to a device in any directory.
func deviceName(base string) bool {
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	rest, ok := strings.CutPrefix(base, "COM")
	if !ok {
		rest, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && strings.ContainsAny(rest, "0123456789¹²³") && len([]rune(rest)) == 1
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// marshal is JSON in one line with the characters of the text itself.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
