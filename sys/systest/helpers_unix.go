//go:build unix

package systest

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func platformHelpers() map[string]Helper {
	return map[string]Helper{
		"ignore-term": func([]string) int {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			fmt.Fprintln(os.Stdout, "ready")
			rest(forever)
			return 0
		},
		"on-term": func(args []string) int {
			got := make(chan os.Signal, 1)
			signal.Notify(got, syscall.SIGTERM)
			fmt.Fprintln(os.Stdout, "ready")
			select {
			case <-got:
				_, err := io.WriteString(os.Stdout, args[0])
				return status(err)
			case <-time.After(forever):
				return 1
			}
		},
		"die-by": func(args []string) int {
			sig := syscall.Signal(number(args, 0))
			signal.Reset(sig)
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				return status(err)
			}
			rest(forever)
			return 0
		},
		"fdlist":    func([]string) int { return listFDs() },
		"tree":      tree,
		"tree-fork": treeFork,
		"tree-run":  treeRun,
	}
}

// tree is a leader whose descendants try to get away.
func tree(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	var plain syscall.SysProcAttr
	again(plain, "ignore-term")
	again(syscall.SysProcAttr{Setpgid: true}, "ignore-term")
	again(syscall.SysProcAttr{Setsid: true}, "ignore-term")
	for _, chain := range [][]string{
		{"tree-fork", "ignore-term"},
		{"tree-fork", "tree-fork", "ignore-term"},
		{"tree-fork", "tree-run", args[1]},
	} {
		p, err := os.FindProcess(again(plain, chain...))
		if err == nil {
			_, err = p.Wait()
		}
		if err != nil {
			return status(err)
		}
	}
	fmt.Fprintln(os.Stdout, "ready")
	if args[0] == "exit" {
		return 5
	}
	rest(forever)
	return 0
}

// treeFork is the middle of a double fork: it starts the rest of its arguments
// in a session of their own and ends, so that they lose their parent.
func treeFork(args []string) int {
	again(syscall.SysProcAttr{Setsid: true}, args...)
	return 0
}

// treeRun is a moving target: each generation lives 3 ms and leaves a next one
// in a new session, for as long as the leash is there.
func treeRun(args []string) int {
	rest(3 * time.Millisecond)
	if _, err := os.Stat(args[0]); err == nil {
		again(syscall.SysProcAttr{Setsid: true}, "tree-run", args[0])
	}
	return 0
}

// again starts a helper from a helper, its output dropped: who holds a pipe is
// not what these are about.
func again(attr syscall.SysProcAttr, args ...string) int {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "systest:", err)
		os.Exit(3)
	}
	defer null.Close()
	path := childPath()
	pid, err := syscall.ForkExec(path, append([]string{path, marker}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &attr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "systest: start", args, err)
		os.Exit(3)
	}
	return pid
}
