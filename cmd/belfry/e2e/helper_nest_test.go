//go:build unix

package e2e

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

func init() { helpers["nest"] = nest }

// nest runs a belfry inside a job, with a hostile tree as its job:
//
//	nest stay|close EXE LEASH
//
// It says "ready" when the tree is complete, and stays, or ends the inner
// belfry in an orderly way and exits with status 6.
func nest(args []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	cmd := exec.Command(args[1], "mcp")
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), nestVar+"=inner")
	c, err := client.Start(cmd)
	if err != nil {
		return complain(err)
	}
	if _, err := c.Open(ctx); err != nil {
		return complain(err)
	}
	var r record
	vars := map[string]string{tokenVar: os.Getenv(tokenVar), nestVar: "inner"}
	run := map[string]any{"command": helper("tree", "stay", args[2]), "env": map[string]any{"vars": vars}}
	if _, err := c.Tool(ctx, "run", run, &r); err != nil {
		return complain(err)
	}
	follow := map[string]any{"job_id": r.JobID, "cursor": 0, "timeout_ms": longFollow}
	if _, err := c.Tool(ctx, "follow", follow, &r); err != nil {
		return complain(err)
	}
	if len(r.Events) == 0 || r.Events[0].Text != "ready" {
		say("the inner tree: %+v\n", r)
		return 1
	}
	say("ready\n")
	if args[0] == "close" {
		if err := c.Close(); err != nil {
			return complain(err)
		}
		return 6
	}
	time.Sleep(lifespan)
	return 0
}

// nestVar marks what belongs to the inner belfry.
const nestVar = "BELFRY_E2E_NEST"
