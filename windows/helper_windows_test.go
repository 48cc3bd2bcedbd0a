package windows

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	xwin "golang.org/x/sys/windows"
)

// hang bounds a wait that is expected to end at once on an idle machine.
const hang = 30 * time.Second

// TestMain doubles as the children of the tests.
func TestMain(m *testing.M) {
	switch os.Getenv("WINDOWS_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "wait": // until the input ends
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(7)
	case "tree": // two more, one of them detached from everything; then as above or leave
		exe, _ := os.Executable()
		for _, flags := range []uint32{0, xwin.CREATE_NEW_PROCESS_GROUP | xwin.DETACHED_PROCESS} {
			c := exec.Command(exe)
			c.Env = append(os.Environ(), "WINDOWS_TEST_CHILD=wait")
			c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
			c.Stdin = os.Stdin
			if err := c.Start(); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println("pid", c.Process.Pid)
		}
		fmt.Println("ready")
		if os.Getenv("WINDOWS_TEST_LEAVE") == "1" {
			os.Exit(9)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "args":
		fmt.Printf("%q\n", os.Args[1:])
	case "sees": // is the handle of this number a pipe here?
		n, _ := strconv.ParseUint(os.Getenv("WINDOWS_TEST_HANDLE"), 10, 64)
		kind, err := xwin.GetFileType(xwin.Handle(n))
		fmt.Println("inherited:", err == nil && kind == xwin.FILE_TYPE_PIPE)
	}
}

// started is a process in a job with its output readable.
type started struct {
	*Process
	job *Job
	out *bufio.Scanner
	in  *os.File // closing it ends children that wait
}

// start starts this binary as a child of the given kind.
func start(t *testing.T, suspended bool, kind string, env []string, args ...string) *started {
	t.Helper()
	job, err := NewJob()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { job.Close() })
	return startIn(t, job, suspended, kind, env, args...)
}

func startIn(t *testing.T, job *Job, suspended bool, kind string, env []string, args ...string) *started {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line, err := CommandLine(append([]string{exe}, args...))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := os.NewFile(r, "out")
	child := os.NewFile(w, "child's out")
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdio, err := NewStdio([3]uintptr{inR.Fd(), w, w})
	if err != nil {
		t.Fatal(err)
	}
	defer stdio.Close()
	p, err := job.Start(Start{
		Path: exe, CommandLine: line, Dir: os.TempDir(), Suspended: suspended,
		Env: append(append(os.Environ(), "WINDOWS_TEST_CHILD="+kind), env...), Stdio: stdio,
	})
	child.Close()
	inR.Close()
	if err != nil {
		out.Close()
		inW.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inW.Close()
		job.Close()
		out.Close()
		p.Close()
	})
	if err := out.SetReadDeadline(time.Now().Add(hang)); err != nil {
		t.Errorf("pipe without deadlines: %v", err)
	}
	return &started{Process: p, job: job, out: bufio.NewScanner(out), in: inW}
}

// line reads one line of output.
func (s *started) line(t *testing.T) string {
	t.Helper()
	if !s.out.Scan() {
		t.Fatalf("no more output: %v", s.out.Err())
	}
	return strings.TrimSpace(s.out.Text())
}

// members reads what "tree" printed, up to "ready" of itself.
func (s *started) members(t *testing.T) []*Process {
	t.Helper()
	var list []*Process
	for ready := 0; ready < 1 || len(list) < 2; {
		switch f := strings.Fields(s.line(t)); {
		case len(f) == 2 && f[0] == "pid":
			pid, _ := strconv.Atoi(f[1])
			p, err := OpenProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			list = append(list, p)
		case len(f) == 1 && f[0] == "ready":
			ready++
		default:
			t.Fatalf("child says %q", f)
		}
	}
	return list
}

// exited waits for the end of a process by its event.
func exited(t *testing.T, p *Process) uint32 {
	t.Helper()
	done := make(chan struct{})
	stop, err := p.OnExit(func() { close(done) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	select {
	case <-done:
	case <-time.After(hang):
		t.Fatalf("process %d does not end", p.PID)
	}
	code, err := p.ExitCode()
	if err != nil {
		t.Fatal(err)
	}
	return code
}
