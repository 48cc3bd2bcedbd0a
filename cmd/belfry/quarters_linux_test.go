package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// awaited waits for what no event tells.
func awaited(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// listed waits until a run of that id is live.
func (q quarters) listed(id string) {
	q.t.Helper()
	awaited(q.t, "run "+id+" on the list", func() bool {
		return strings.Contains(q.verb("list", "--json", "--health", "live"), strconv.Quote(id))
	})
}

// containers are the control groups that the records of these quarters name.
func (q quarters) containers() (names []string) {
	files, _ := filepath.Glob(filepath.Join(q.runtime, "trees", "belfry-*.json"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return names
}

// helpers are the processes that guard these containers.
func (q quarters) helpers() (pids []int) {
	names := q.containers()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.HasPrefix(string(line), "belfry-helper\x00") {
			continue
		}
		for _, name := range names {
			if strings.Contains(string(line), name) {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
