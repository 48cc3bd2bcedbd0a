package sys

// roleBreak sends CTRL_BREAK. Containment needs no helper: a job's process
// inherits the handles that are listed for it and no other, and the kernel ends
// the trees of a host that dies.
const roleBreak = "break"

func initProcess() { initCalled.Store(true) }

// runHelper gives the exit status.
func runHelper(role string, args []string) int {
	if role == roleBreak {
		return runBreak(args)
	}
	return 2
}
