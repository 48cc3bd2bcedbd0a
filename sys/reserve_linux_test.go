package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("without-processes", withoutProcesses) }

// rlimitProcesses is RLIMIT_NPROC, which package syscall does not name.
const rlimitProcesses = 6

// withoutProcesses prepares a host, takes from itself the right to one more
// process or thread, and then has many calls wait at once.
func withoutProcesses([]string) int {
	// Root is not subject to the limit.
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65533); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	sys.FillReserve()
	none := syscall.Rlimit{Cur: 0, Max: 0}
	if err := syscall.Setrlimit(rlimitProcesses, &none); err != nil {
		fmt.Println("error", err)
		return 1
	}
	if _, err := syscall.ForkExec("/bin/true", []string{"true"}, nil); err != syscall.EAGAIN {
		fmt.Println("skip: the limit does not hold here:", err)
		return 0
	}
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		return 1
	}
	const calls = 12
	done := make(chan int, calls)
	var entered atomic.Int32
	for range calls {
		go func() {
			var b [1]byte
			entered.Add(1)
			n, _ := syscall.Read(p[0], b[:]) // waits in the kernel, with its thread
			done <- n
		}()
	}
	for entered.Load() < calls {
		runtime.Gosched()
	}
	// One after another they go on; the program is still there to let them.
	for range calls {
		if _, err := syscall.Write(p[1], []byte{1}); err != nil {
			return 1
		}
		<-done
	}
	fmt.Println("alive")
	return 0
}

// TestOutlivesAProcessLimit: a job that has used up the processes of its user
// does not take the supervisor's threads from it.
func TestOutlivesAProcessLimit(t *testing.T) {
	for range rounds(t, 50) {
		path, argv, env := systest.Command("without-processes")
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
		out, err := cmd.Output()
		if text := string(out); strings.HasPrefix(text, "skip") {
			t.Skip(text)
		} else if err != nil || text != "alive\n" {
			t.Fatalf("%q %v", text, err)
		}
	}
}
