package sys

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// The trampoline's descriptors beside the job's own three.
const (
	jumpRequest = 3 // file that holds an order
	jumpReport  = 4 // pipe for a word that tells of a failure; closed by exec
)

// jump is the trampoline: this binary in place of the program, which it
// becomes: a start whose file system may be slow, in a process that may wait
// for it, or that needs a process to itself. It gives the exit status when it cannot.
func jump() int {
	_ = linux.SealFrom(jumpRequest)
	o, err := readOrder(jumpRequest)
	if err != nil {
		return 2
	}
	failure := o.become()
	report := word{kind: wordFailed, args: []int64{int64(failure.step), int64(failure.errno)}}
	_, _ = syscall.Write(jumpReport, report.encode()) // nobody may listen any more
	return 127
}

// become puts the program in place of this process and returns only on a
// failure.
func (o *order) become() *orderFailure {
	if err := syscall.Chdir(o.Dir); err != nil {
		return failedStep(stepDir, err)
	}
	if o.Umask != nil {
		syscall.Umask(*o.Umask)
	}
	if (o.Approved != FileStamp{}) {
		if now, err := stamp(o.Path); err != nil || now != o.Approved {
			return &orderFailure{step: stepCheck}
		}
	}
	if o.Mark != 0 {
		_ = linux.Mark(0, o.Mark) // Best effort: it only helps to find what gets away.
	}
	deadline := time.Now().Add(busyLimit)
	for pause := time.Millisecond; ; pause *= 2 {
		err := syscall.Exec(o.Path, o.Argv, o.Env)
		if err != syscall.ETXTBSY || time.Now().Add(pause).After(deadline) {
			return failedStep(stepExec, err)
		}
		<-time.After(pause) // the kernel tells nobody when the last writer is gone
	}
}

// jumps reports whether a program is started through the trampoline: it may wait
// for a slow file system, or wants another umask than all threads of this process
// have together.
func (h *linuxHost) jumps(sp *Spec, facts *programFacts) bool {
	return facts.slow || sp.Umask != nil && *sp.Umask != h.umask()
}

// startThrough starts the program through the trampoline and waits until it took
// its place.
func (h *linuxHost) startThrough(sp *Spec, facts *programFacts, in *linux.HeldCgroup) (*leader, error) {
	if !initCalled.Load() {
		return nil, &StartError{Code: CodeSpawn, Path: sp.Path,
			Detail: "lies on a slow file system or wants another umask, which takes a helper to start: " + errInitNotCalled.Error()}
	}
	o := order{Path: sp.Path, Dir: sp.Dir, Argv: sp.Argv, Env: sp.Env, Approved: sp.Approved, Umask: sp.Umask,
		Mark: h.marks.next()}
	file, err := linux.MemFile("order", o.encode())
	if err != nil {
		return nil, spawnError(sp, facts, err)
	}
	defer file.Close()
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, spawnError(sp, facts, err)
	}
	defer reportR.Close()
	helper := birthIn(in, linux.SpawnAttr{Path: h.executable(), Argv: []string{helperName, roleTrampoline}, Env: helperEnv(),
		Dir: "/", OnDeath: syscall.SIGKILL,
		Shared: sp.Session == SessionShared, Terminal: sp.Session == SessionTerminal,
		Files: append(stdioOf(sp), file.Fd(), reportW.Fd())})
	l, err := h.spawnLeader(helper)
	runtime.KeepAlive(sp)
	reportW.Close()
	if err != nil {
		return nil, spawnError(sp, facts, err)
	}
	_ = reportR.SetReadDeadline(time.Now().Add(spawnLimit))
	var b [maxWord]byte
	n, err := reportR.Read(b[:])
	if err == io.EOF {
		l.mark = o.Mark
		return l, nil // closed by exec
	}
	if err != nil {
		go l.abort() // may be stuck in the kernel: reaped when it is not
		return nil, startTimeout(sp.Path, spawnLimit)
	}
	l.abort()
	w, err := decodeWord(b[:n])
	if err != nil {
		return nil, spawnError(sp, facts, err)
	}
	return nil, orderError(sp, facts, int(w.arg(0)), syscall.Errno(w.arg(1)))
}

func stdioOf(sp *Spec) []uintptr {
	return []uintptr{sp.Stdio[0].Fd(), sp.Stdio[1].Fd(), sp.Stdio[2].Fd()}
}
