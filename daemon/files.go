package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// files are the paths of one daemon.
type files struct {
	dir       string
	startLock string // held while one starter looks again and starts
	lock      string // held by the daemon to its last instruction
	info      string
	hold      string
	cooldown  string
	log       string
	socket    string // Socket only
}

// filesOf gives the paths. Under Socket a directory is one daemon's, under TCP
// it may be shared and every name begins with the daemon's.
func filesOf(c Config) files {
	at := func(name string) string { return filepath.Join(c.DataDir, name) }
	if c.Transport == Socket {
		return files{
			dir: c.DataDir, startLock: at("start.lock"), lock: at("daemon.lock"), info: at("info.json"),
			hold: at("hold.json"), cooldown: at("cooldown.json"), log: at("daemon.log"), socket: at("d1.sock"),
		}
	}
	return files{
		dir: c.DataDir, startLock: at(c.Name + ".lock"), lock: at(c.Name + ".daemon.lock"), info: at(c.Name + ".pid"),
		hold: at(c.Name + ".stop-intent"), cooldown: at(c.Name + ".spawn-cooldown"), log: at(c.Name + ".log"),
	}
}

// make creates the directory, this user's alone.
func (f *files) make(private bool) error {
	if private {
		if _, err := sys.PrivateDir(f.dir); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// record is the PID file: who serves, and where. It is information; nothing is
// ever signalled by it without comparing the identity.
type record struct {
	PID        int       `json:"pid"`
	Port       int       `json:"port,omitempty"`
	Name       string    `json:"name"`
	Binary     string    `json:"binary"`
	StartTime  time.Time `json:"startTime"`
	Token      string    `json:"token,omitempty"`
	Generation string    `json:"generation,omitempty"`
	Version    string    `json:"version,omitempty"`
	Endpoint   string    `json:"endpoint,omitempty"`
	Identity   identity  `json:"identity,omitzero"`
}

// identity is a sys.ID as JSON. Numbers above 2^53 do not survive every reader,
// so they travel as text.
type identity struct {
	PID    int    `json:"pid"`
	Birth  string `json:"birth,omitempty"`
	Kind   uint8  `json:"kind,omitempty"`
	Boot   string `json:"boot,omitempty"`
	Unique string `json:"unique,omitempty"`
}

func identityOf(id sys.ID) identity {
	return identity{PID: id.PID, Birth: strconv.FormatUint(id.Birth, 10), Kind: uint8(id.Kind), Boot: id.Boot,
		Unique: strconv.FormatUint(id.Unique, 10)}
}

// id gives back the ID; what cannot be read makes it one that matches nothing.
func (i identity) id() sys.ID {
	birth, err := strconv.ParseUint(i.Birth, 10, 64)
	unique, uerr := strconv.ParseUint(i.Unique, 10, 64)
	if err != nil || uerr != nil {
		return sys.ID{PID: i.PID}
	}
	return sys.ID{PID: i.PID, Birth: birth, Kind: sys.BirthKind(i.Kind), Boot: i.Boot, Unique: unique}
}

var errEmptyRecord = errors.New("the PID file is empty")

// maxSmall is more than any file has that tells of a daemon, in bytes.
const maxSmall = 1 << 20

// loadRecord reads a PID file; a bare number, as old versions wrote, is one too.
func loadRecord(path string) (record, error) {
	b, err := sys.ReadShared(path, maxSmall)
	if err != nil {
		return record{}, err
	}
	return parseRecord(b)
}

func parseRecord(b []byte) (record, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return record{}, errEmptyRecord
	}
	if pid, err := strconv.Atoi(string(b)); err == nil && pid > 0 {
		return record{PID: pid}, nil
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("read PID file: %w", err)
	}
	if r.PID <= 0 || r.Port < 0 || r.Port > 65535 {
		return record{}, errors.New("read PID file: no process or port in it")
	}
	return r, nil
}

// writeJSON replaces a file by v in one step, readable to this user alone.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sys.ReplaceWhole(path, append(b, '\n'))
}

// remove deletes a file; one that is not there is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sys.Obstacle(path, err)
	}
	return nil
}
