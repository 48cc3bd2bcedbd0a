//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

func init() {
	helpers["tree"] = tree
	helpers["orphan"] = orphan
	helpers["runner"] = runner
}

// tree is a leader whose tree tries to get away, and none of it ends when
// asked to:
//
//	tree stay|exit LEASH
//
// A child in the leader's group, one in a group and one in a session of their
// own, two orphans of double forks in sessions of their own, and a runner that
// forks into a new session every 5 ms. It says "ready" when all have started,
// and stays or exits with status 5.
func tree(args []string) int {
	ignorePolite()
	sleeper := []string{"sleep", "180"} // ignores what we ignore
	for _, p := range []struct {
		argv []string
		attr syscall.SysProcAttr
	}{
		{sleeper, syscall.SysProcAttr{}},
		{sleeper, syscall.SysProcAttr{Setpgid: true}},
		{sleeper, syscall.SysProcAttr{Setsid: true}},
	} {
		if err := spawn(p.argv, &p.attr); err != nil {
			return complain(err)
		}
	}
	for _, argv := range [][]string{
		sleeper,
		helper("orphan", sleeper...),
		helper("runner", args[1]),
	} {
		middle := exec.Command(helperExe, helper("orphan", argv...)[1:]...)
		middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := middle.Run(); err != nil {
			return complain(err)
		}
	}
	say("ready\n")
	if args[0] == "exit" {
		return 5
	}
	time.Sleep(lifespan)
	return 0
}

// orphan is the middle of a double fork: it starts a program in a session of
// its own and ends.
func orphan(argv []string) int {
	if err := spawn(argv, &syscall.SysProcAttr{Setsid: true}); err != nil {
		return complain(err)
	}
	return 0
}

// runner is a target that moves: each generation ends 5 ms after its start and
// leaves the next one in a session of its own, for as long as the leash is
// there.
func runner(args []string) int {
	time.Sleep(5 * time.Millisecond)
	if _, err := os.Stat(args[0]); err != nil {
		return 0
	}
	return orphan(helper("runner", args...))
}

// spawn starts a program that nobody waits for, with no word to say.
func spawn(argv []string, attr *syscall.SysProcAttr) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, err = os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{null, null, null}, Sys: attr})
	return err
}
