package sys

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

const (
	// preflightLimit bounds what a file system may take to answer.
	preflightLimit = 2 * time.Second
	// slowLook is the time from which a file system counts as slow.
	slowLook = 50 * time.Millisecond
	// interpreterDepth is how many interpreters exec follows (binfmt recursion).
	interpreterDepth = 4
)

// programFacts is what a look at a program, before it is started, told.
type programFacts struct {
	program     linux.Program
	interpreter string // the last one looked at
	slow        bool   // must not be touched between clone and exec
	unread      bool   // one of the files may be executed, but not read
	files       []looked
	recalled    bool // of an earlier look
}

// looked is a file that was looked at: the program, then its interpreters.
type looked struct {
	path  string
	stamp FileStamp
}

// notRunnable is the text for a format that the kernel does not know.
func (f *programFacts) notRunnable() string { return f.program.Refusal() }

// preflight touches what exec will touch - directory, program, interpreter -
// in an ordinary goroutine and gives up after preflightLimit. Whatever waits
// for a file system here waits alone; between clone and exec it would stop
// the whole process at the next garbage collection.
func preflight(ctx context.Context, sp *Spec) (programFacts, error) {
	return promptly(ctx, sp.Path, preflightLimit, func() (programFacts, error) { return look(sp) })
}

func look(sp *Spec) (programFacts, error) {
	begin := time.Now()
	var facts programFacts
	if err := lookDir(sp.Dir, &facts); err != nil {
		return facts, err
	}
	prog, err := lookFile(sp.Path, sp.Approved, &facts)
	if err != nil {
		return facts, err
	}
	facts.program = prog
	for depth := 0; prog.Interpreter != "" && depth < interpreterDepth; depth++ {
		facts.interpreter = prog.Interpreter
		prog, err = lookFile(prog.Interpreter, FileStamp{}, &facts)
		if se, ok := errors.AsType[*StartError](err); ok {
			return facts, interpreterError(sp.Path, facts.interpreter, se)
		}
		if facts.program.Kind == linux.ProgramELF {
			break // a loader's own interpreter does not count
		}
	}
	facts.slow = facts.slow || time.Since(begin) > slowLook
	return facts, nil
}

func interpreterError(path, name string, e *StartError) *StartError {
	switch e.Code {
	case CodeNotFound:
		return &StartError{Code: CodeInterpreterMissing, Path: path, Err: e.Err,
			Detail: "its interpreter " + quoteOdd(name) + " does not exist"}
	case CodeResourcesExhausted:
		return e
	}
	return &StartError{Code: e.Code, Path: path, Err: e.Err,
		Detail: "its interpreter " + quoteOdd(name) + " " + e.Detail}
}

func lookDir(dir string, facts *programFacts) error {
	fd, err := linux.OpenPath(dir)
	if err != nil {
		return dirError(dir, err)
	}
	defer linux.CloseFD(fd)
	facts.slow = facts.slow || linux.SlowFS(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return openError(dir, err)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return &StartError{Code: CodeCwdNotDirectory, Path: dir, Detail: "is not a directory"}
	}
	if err := linux.CanExecute(dir); errors.Is(err, fs.ErrPermission) {
		return &StartError{Code: CodePermissionDenied, Path: dir, Detail: "no permission to enter the directory", Err: err}
	}
	return nil
}

func dirError(dir string, err error) *StartError {
	e := openError(dir, err)
	if e.Code == CodeNotFound {
		e.Code, e.Detail = CodeCwdMissing, "no such directory"
	}
	return e
}

// lookFile opens a program and reads its first page. One that may be executed
// but not read tells nothing about itself.
func lookFile(path string, approved FileStamp, facts *programFacts) (linux.Program, error) {
	fd, err := linux.OpenForLook(path)
	readable := err == nil
	if errors.Is(err, fs.ErrPermission) {
		fd, err = linux.OpenPath(path)
	}
	if err != nil {
		return linux.Program{}, openError(path, err)
	}
	defer linux.CloseFD(fd)
	facts.slow = facts.slow || linux.SlowFS(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return linux.Program{}, openError(path, err)
	}
	switch {
	case st.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		return linux.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "is a directory"}
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return linux.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "is not a regular file"}
	case st.Mode&0o111 == 0:
		return linux.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "has no execute bit (chmod +x would set it)"}
	case approved != FileStamp{} && approved != stampOf(&st):
		return linux.Program{}, changed(path)
	}
	facts.files = append(facts.files, looked{path, stampOf(&st)})
	if !readable {
		facts.unread = true
		return linux.Program{}, nil
	}
	head := make([]byte, linux.ProgramHead)
	n, err := linux.ReadAt(fd, head, 0)
	if err != nil {
		return linux.Program{}, openError(path, err)
	}
	return linux.ParseProgram(head[:n]), nil
}

func changed(path string) *StartError {
	return &StartError{Code: CodeChanged, Path: path, Detail: "is not the file that was approved: it was replaced or written since"}
}
