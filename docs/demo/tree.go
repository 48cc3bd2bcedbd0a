package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// The processes of act 2, all of them this program.
const (
	leader    = "leader"
	companion = "companion" // started in the background
	escapee   = "escapee"   // started elsewhere, away from the leader's group
)

var cast = []string{leader, companion, escapee}

// lifespan is when a process of the tree ends by itself, should nothing else
// end it: a demo that fails leaves nothing behind for good.
const lifespan = 2 * time.Minute

// play is one process of the tree. It ignores every polite request to end.
func play(role string) int {
	signal.Ignore(politeSignals...)
	say("%s is %d", role, os.Getpid())
	if role == leader {
		self, err := os.Executable()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, other := range []string{companion, escapee} {
			cmd := exec.Command(self, "-role", other)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if other == escapee {
				escape(cmd)
			}
			if err := cmd.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	<-time.After(lifespan)
	return 0
}
