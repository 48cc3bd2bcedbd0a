package sys

import (
	"strconv"

	"github.com/belfry-dev/belfry/darwin"
)

// The roles.
const (
	roleGuardianStart = "guardian-start" // starts the guardian and ends
	roleGuardian      = "guardian"
	roleNothing       = "nothing" // ends at once: proof that a rung works
)

func initProcess() {
	initCalled.Store(true)
	// Best effort: what cannot be listed stays as it was inherited.
	_ = darwin.SealFrom(3)
}

// runHelper gives the exit status.
func runHelper(role string, args []string) int {
	switch {
	case role == roleGuardianStart && len(args) == 3:
		return startGuardianDetached(args)
	case role == roleGuardian && len(args) == 3:
		pid, err := strconv.Atoi(args[1])
		start, serr := strconv.ParseUint(args[2], 10, 64)
		if err != nil || serr != nil {
			return 2
		}
		return guard(pid, start)
	case role == roleNothing:
		return 0
	}
	return 2
}
