package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// actTree starts a tree that does its best to get away, kills it, and looks
// for every process of it.
func (a *agent) actTree(ctx context.Context, self string) error {
	say("\nAct 2. A job that starts others: one in the background, one in %s,", elsewhere)
	say("and none of them ends when asked to. Each says its process id.")
	var tree job
	if err := a.tool(ctx, "run", map[string]any{"command": []string{self, "-role", leader}}, &tree); err != nil {
		return err
	}
	if tree.Diagnostic != nil {
		return fmt.Errorf("nothing was started: %s", tree.Diagnostic.Message)
	}
	pids := map[string]int{}
	for cursor := int64(0); len(pids) < len(cast); {
		if err := a.follow(ctx, &tree, cursor, false); err != nil {
			return err
		}
		cursor = tree.NextCursor
		for _, e := range tree.Events {
			name, pid, ok := strings.Cut(e.Text, " is ")
			if n, err := strconv.Atoi(pid); ok && err == nil {
				pids[name] = n
			}
		}
		if tree.Reason == "terminal" && len(pids) < len(cast) {
			return fmt.Errorf("the tree ended %s before it was killed", tree.ending())
		}
	}
	for _, name := range cast {
		if !alive(pids[name]) {
			return fmt.Errorf("%s (%d) is not alive before the kill", name, pids[name])
		}
	}
	say("  The demo looks for itself: all %d are alive.", len(pids))
	if err := a.tool(ctx, "status", map[string]any{"job_id": tree.JobID}, &tree); err != nil {
		return err
	}
	say("  They are held by %s; a kill reaches the %s.", tree.Mechanism, tree.Guarantee.Kill)

	say("\nThe agent kills the job. Half a second of grace, then the whole tree at once.")
	var killed job
	if err := a.tool(ctx, "kill", map[string]any{"job_id": tree.JobID, "grace_ms": 500}, &killed); err != nil {
		return err
	}
	say("  Seen empty by the system's own account: %t. And the demo looks for itself:",
		killed.Confirmed != nil && *killed.Confirmed)
	left := 0
	for _, name := range cast {
		state := "is gone"
		if alive(pids[name]) {
			state = "is STILL ALIVE"
			left++
		}
		say("  %-10s %-8d %s", name, pids[name], state)
	}
	if left > 0 || killed.Confirmed == nil || !*killed.Confirmed {
		return fmt.Errorf("%d of %d processes outlived the kill", left, len(cast))
	}
	return nil
}
