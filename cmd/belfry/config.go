package main

import (
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
)

// maxSafe is the largest integer that every JSON reader keeps exact.
const maxSafe = 1<<53 - 1

// jobConfig reads the store's settings from the environment. A value that is
// not a non-negative safe integer means the default.
func (a *App) jobConfig(policy job.PolicyFile) job.Config {
	c := job.Config{
		Policy:      policy,
		Base:        a.base(),
		MaxRunning:  a.count("BELFRY_MAX_CONCURRENT_JOBS"),
		MaxQueue:    a.count("BELFRY_MAX_QUEUE_DEPTH"),
		MaxRetained: a.count("BELFRY_MAX_RETAINED_JOBS"),
		MaxRecords:  a.count("BELFRY_MAX_RECORDS"),
		Retention:   a.milliseconds("BELFRY_JOB_RETENTION_MS"),
		RecordTTL:   a.milliseconds("BELFRY_RECORD_TTL_MS"),
		Grace:       a.milliseconds("BELFRY_KILL_GRACE_MS"),
	}
	for _, root := range filepath.SplitList(a.Env("BELFRY_CWD_ROOTS")) {
		if root != "" {
			c.Roots = append(c.Roots, root)
		}
	}
	return c
}

// hostDoors reads which doors to the program that hosts the agent are open.
// threads is nil when none leads to its threads.
func (a *App) hostDoors() (hosts []hostwake.Transport, threads *hostwake.AppServer) {
	if m := a.messaging(); m != (messaging{}) {
		hosts = append(hosts, hostwake.NewMessaging(m.Socket, m.Token))
	}
	if a.Env("BELFRY_WAKE_TRANSPORT_ENABLED") == "1" {
		threads = hostwake.NewAppServer(versionOf().Version, "codex", "app-server")
	}
	return hosts, threads
}

// messaging is the host's own door, zero when there is none or it is to be left
// alone.
func (a *App) messaging() messaging {
	m := messaging{a.Env("CLAUDE_CODE_MESSAGING_SOCKET"), a.Env("CLAUDE_CODE_MESSAGING_TOKEN")}
	if m.Socket == "" || m.Token == "" || a.Env("BELFRY_DISABLE_CLAUDE_MESSAGING_WAKE") == "1" {
		return messaging{}
	}
	return m
}

// count reads a number; nil means the default.
func (a *App) count(key string) *int {
	n, ok := a.integer(key)
	if !ok {
		return nil
	}
	i := int(min(n, math.MaxInt))
	return &i
}

// milliseconds reads a duration; nil means the default.
func (a *App) milliseconds(key string) *time.Duration {
	n, ok := a.integer(key)
	if !ok {
		return nil
	}
	d := time.Duration(min(n, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
	return &d
}

func (a *App) integer(key string) (uint64, bool) {
	n, err := strconv.ParseUint(a.Env(key), 10, 64)
	return n, err == nil && n <= maxSafe
}
