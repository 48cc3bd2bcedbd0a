//go:build linux

package sys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// recordVersion is that of the format below. A record of another version is
// never acted upon.
const recordVersion = 1

// record is what a supervisor notes of its container, so that a later one can
// end what is left in it. On disk it is one line of JSON, written before the
// container is made, and a second one, which says which directory was made.
type record struct {
	Version int    `json:"version"`
	Boot    string `json:"boot"`
	// The supervisor. A number means something in its own pid namespace only.
	PID     int    `json:"pid"`
	Start   uint64 `json:"start_ticks"`
	PIDs    uint64 `json:"pid_namespace"`
	Mounts  uint64 `json:"mount_namespace"`
	Control string `json:"container"`
	// Made identifies the directory; zero before the second line. A name that
	// was random before the directory was there is nobody else's either.
	Made  fileID `json:"made"`
	Above fileID `json:"above"` // the directory in which it was made
	// Leaf is the group into which the supervisor moved itself; may be empty.
	Leaf string `json:"leaf,omitempty"`
	// Marks is the base of the marks of its trees; 0: they bear none.
	Marks uint64 `json:"marks,omitempty"`
}

// fileID names a directory of one boot.
type fileID struct {
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
}

// encode gives one line.
func (r *record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

// errNothingNoted: the supervisor ended before it had noted anything, so it had
// not made anything either.
var errNothingNoted = errors.New("the record is empty")

// parseRecord reads the last whole line. What stands behind it was being
// written when the supervisor ended.
func parseRecord(text []byte) (record, error) {
	end := bytes.LastIndexByte(text, '\n')
	if end < 0 {
		return record{}, errNothingNoted
	}
	line := text[:end]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return record{}, fmt.Errorf("the record is no JSON of ours: %w", err)
	}
	switch {
	case r.Version != recordVersion:
		return record{}, fmt.Errorf("the record has version %d, not %d", r.Version, recordVersion)
	case r.Boot == "" || r.Control == "" || r.PID <= 0:
		return record{}, errors.New("the record lacks boot, pid or container")
	}
	return r, nil
}
