package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCooldownGrows(t *testing.T) {
	now := time.Unix(1e9, 0)
	var last *Cooldown
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		c := nextCooldown(last, 30*time.Second, now, "x")
		if got := c.Until.Sub(now); got != want*time.Second {
			t.Errorf("failure %d: %v, want %v s", c.Failures, got, want)
		}
		now = c.Until.Add(time.Second)
		last = &c
	}
	if c := nextCooldown(last, 30*time.Second, last.Until.Add(time.Hour), "x"); c.Failures != 1 {
		t.Errorf("an hour later: %+v", c)
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := writeJSON(path, Cooldown{Since: now, Until: now.Add(time.Second), Error: "e"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {999 * time.Millisecond, true}, {time.Second, false}, {-time.Hour, false}} {
		if got := readCooldown(path, now.Add(c.at)); (got != nil) != c.want {
			t.Errorf("at %v: %v", c.at, got)
		}
	}
	for _, junk := range []string{"", "{", "12345", `{"until":"9999-01-01T00:00:00Z"}`} {
		if err := os.WriteFile(path, []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readCooldown(path, now); got != nil {
			t.Errorf("%q: %+v", junk, got)
		}
	}
}

func TestHoldMarker(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "hold.json")
	if h := readHold(path, now); h != nil {
		t.Errorf("no marker: %+v", h)
	}
	for _, c := range []struct{ text, reason string }{
		{"", ""},
		{"{}", ""},
		{"junk", "hold.json cannot be read"},
		{"[]", "hold.json cannot be read"},
		{`{"since":5}`, "hold.json cannot be read"},
		{`{"by":"a","until":"x"}`, "hold.json cannot be read"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		h := readHold(path, now)
		if h == nil || h.By == "" || h.Since.Before(now.Add(-time.Hour)) || !h.Until.IsZero() ||
			!strings.Contains(h.Reason, c.reason) || (h.Reason == "") != (c.reason == "") {
			t.Errorf("%q: %+v", c.text, h)
		}
	}
	if h := parseHold(path, fmt.Appendf(nil, `{"until":%q}`, now.Add(-time.Second).Format(time.RFC3339)), now); h != nil {
		t.Errorf("a hold that is over: %+v", h)
	}
}
