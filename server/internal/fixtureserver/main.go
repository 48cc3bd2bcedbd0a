// Command fixtureserver is the server with a few more tools: those that a
// conformance suite needs to see every side of the Tasks extension, input
// requests included, which no job has. It is a program of the tests and no
// part of the product.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server"
	"github.com/belfry-dev/belfry/sys"
)

func main() {
	sys.Init()
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fixtureserver:", err)
		os.Exit(1)
	}
}

// serve serves stdin and stdout until stdin ends. The policy is the file that
// BELFRY_POLICY_FILE names; arguments are ignored.
func serve(ctx context.Context) error {
	host, err := sys.NewHost(sys.HostOptions{})
	if err != nil {
		return fmt.Errorf("open host: %w", err)
	}
	defer host.Close()
	store, err := job.NewStore(job.Config{
		Launcher: host,
		Policy:   job.PolicyFile{Path: os.Getenv("BELFRY_POLICY_FILE"), Origin: "BELFRY_POLICY_FILE"},
		Base:     job.Base{Path: os.Getenv("PATH"), Home: os.Getenv("HOME")},
	})
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer store.Close(ctx)
	tasks := &tasks{}
	srv, err := server.New(store, server.Options{Version: "0.0.0-fixtures", Tools: tools(tasks), Tasks: tasks})
	if err != nil {
		return fmt.Errorf("open server: %w", err)
	}
	return srv.Serve(ctx, os.Stdin, os.Stdout)
}
