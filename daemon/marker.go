package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Held is a Hold in force.
type Held struct {
	Since  time.Time `json:"since"`
	By     string    `json:"by"` // user and process
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is released
}

// Cooldown is the pause after failed starts.
type Cooldown struct {
	Until    time.Time `json:"until"`
	Error    string    `json:"error"`
	Failures int       `json:"failures"` // in a row
	Since    time.Time `json:"since"`
}

const (
	firstCooldown = time.Second
	// forgetFailures is how long after the end of a pause a failure still
	// lengthens the next one.
	forgetFailures = 5 * time.Minute
)

// readHold gives the hold in force, nil when there is none. A marker without
// content is one too; one whose time is over is not. One that cannot be read
// forbids all the same, because it is there, and its reason says so. What does
// not say since when it is in force is so since its file was changed.
func readHold(path string, now time.Time) *Held {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var b []byte
	if err == nil {
		b, err = sys.ReadShared(path, maxSmall)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // released just now
	}
	var h *Held
	if err != nil {
		h = unreadable(path, sys.Obstacle(path, err))
	} else if h = parseHold(path, b, now); h == nil {
		return nil
	}
	if h.Since.IsZero() && fi != nil {
		h.Since = fi.ModTime()
	}
	return h
}

func unreadable(path string, err error) *Held {
	return &Held{By: "unknown", Reason: fmt.Sprintf("%s cannot be read: %v", filepath.Base(path), err)}
}

func parseHold(path string, b []byte, now time.Time) *Held {
	var h Held
	if len(bytes.TrimSpace(b)) > 0 {
		if err := json.Unmarshal(b, &h); err != nil {
			return unreadable(path, err)
		}
	}
	if h.By == "" {
		h.By = "unknown"
	}
	if !h.Until.IsZero() && !now.Before(h.Until) {
		return nil
	}
	return &h
}

// readCooldown gives the pause in force. One that was stamped in the future, by
// a clock that has been set back since, is over.
func readCooldown(path string, now time.Time) *Cooldown {
	c := loadCooldown(path)
	if c == nil || now.Before(c.Since) || !now.Before(c.Until) {
		return nil
	}
	return c
}

func loadCooldown(path string) *Cooldown {
	b, err := sys.ReadShared(path, maxSmall)
	if err != nil {
		return nil
	}
	var c Cooldown
	if json.Unmarshal(b, &c) != nil || c.Until.Before(c.Since) || c.Until.Sub(c.Since) > 24*time.Hour {
		return nil
	}
	return &c
}

// nextCooldown is the pause after a failure: 1 s, doubled by each failure that
// follows soon, up to most.
func nextCooldown(last *Cooldown, most time.Duration, now time.Time, reason string) Cooldown {
	failures := 1
	if last != nil && !now.Before(last.Since) && now.Sub(last.Until) < forgetFailures {
		failures = last.Failures + 1
	}
	pause := firstCooldown << min(failures-1, 16)
	return Cooldown{Since: now, Until: now.Add(min(pause, most)), Error: reason, Failures: failures}
}

// me names this user and process, for people.
func me() string {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return who + ", process " + strconv.Itoa(os.Getpid())
}
