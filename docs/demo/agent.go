package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// agent is an MCP client that tells what it does.
type agent struct{ *client.Client }

// hire starts the server, which has its state in a directory of its own, and opens
// the connection.
func hire(ctx context.Context, server, state string, args ...string) (*agent, error) {
	cmd := exec.Command(server, args...)
	cmd.Env = append(cmd.Environ(), "BELFRY_STATE_DIR="+state) // no detached jobs of this user
	cmd.Stderr = os.Stderr
	c, err := client.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w (make build builds it)", err)
	}
	hello, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	say("  %s %s said hello %s after its process was started.",
		hello.ServerInfo.Name, hello.ServerInfo.Version, short(time.Since(c.Begun())))
	return &agent{c}, nil
}

// tool calls a tool, shows call and answer as they are, and decodes the answer.
func (a *agent) tool(ctx context.Context, name string, args map[string]any, answer any) error {
	showCall(name, args)
	got, err := a.Tool(ctx, name, args, answer)
	if got.Text != "" {
		say("  belfry: %s   (%s)", clip(strings.TrimSpace(got.Text)), short(got.Reply.Took))
	}
	return err
}

// follow waits for what comes after a cursor, and shows it unless quiet.
func (a *agent) follow(ctx context.Context, j *job, cursor int64, quiet bool) error {
	args := map[string]any{"job_id": j.JobID, "cursor": cursor, "timeout_ms": 45_000}
	*j = job{}
	got, err := a.Tool(ctx, "follow", args, j)
	if err == nil && !quiet {
		showCall("follow", args)
		showPage(j, got.Reply.Took)
	}
	return err
}

func showCall(name string, args map[string]any) {
	shown := map[string]any{}
	for k, v := range args {
		if k == "env" {
			v = "…"
		}
		shown[k] = v
	}
	text, err := json.Marshal(shown)
	if err != nil {
		text = []byte(err.Error())
	}
	say("  agent:  %s %s", name, clip(string(text)))
}

// showPage shows what a follow brought: not the record that comes with it.
func showPage(j *job, took time.Duration) {
	say("  belfry: reason %s, state %s, new lines: %d, next_cursor %d   (%s)",
		j.Reason, j.State, len(j.Events), j.NextCursor, short(took))
	for i, e := range j.Events {
		if i == shownLines {
			say("          | ... %d more", len(j.Events)-i)
			break
		}
		say("          | %s", clip(e.Text))
	}
}
