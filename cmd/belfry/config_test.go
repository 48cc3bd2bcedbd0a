package main

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/google/go-cmp/cmp"
)

func TestInteger(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{"0", 0, true},
		{"8", 8, true},
		{"9007199254740991", maxSafe, true},
		{"9007199254740992", 0, false},
		{"99999999999999999999", 0, false},
		{"", 0, false},
		{" ", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1_000", 0, false},
		{"0x10", 0, false},
		{"abc", 0, false},
	} {
		a := App{Env: func(string) string { return c.text }}
		n, ok := a.integer("X")
		if ok != c.ok || ok && n != c.want {
			t.Errorf("%q is %d, %t; want %d, %t", c.text, n, ok, c.want, c.ok)
		}
	}
}

func TestDurationsDoNotOverflow(t *testing.T) {
	a := App{Env: func(string) string { return "9007199254740991" }}
	if d := a.milliseconds("X"); *d != time.Duration(math.MaxInt64/int64(time.Millisecond))*time.Millisecond {
		t.Errorf("the longest duration became %v", *d)
	}
}

func TestJobConfig(t *testing.T) {
	env := map[string]string{
		"PATH":                       "/bin",
		"HOME":                       "/home/x",
		"BELFRY_MAX_CONCURRENT_JOBS": "0",
		"BELFRY_MAX_QUEUE_DEPTH":     "-3",
		"BELFRY_KILL_GRACE_MS":       "250",
		"BELFRY_CWD_ROOTS":           "/a" + string(filepath.ListSeparator) + string(filepath.ListSeparator) + "/b",
	}
	a := App{Env: func(k string) string { return env[k] }}
	zero, grace := 0, 250*time.Millisecond
	want := job.Config{
		Policy:     job.PolicyFile{Path: "/p", Origin: "--policy"},
		Base:       job.Base{Path: "/bin", Home: "/home/x"},
		MaxRunning: &zero,
		Grace:      &grace,
		Roots:      []string{"/a", "/b"},
	}
	got := a.jobConfig(want.Policy)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}
