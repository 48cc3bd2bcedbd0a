package sys

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

// preflightLimit bounds what a file system may take to answer.
const preflightLimit = 2 * time.Second

// programFacts is what a look at a program, before it is started, told.
type programFacts struct{ program darwin.Program }

// preflight touches what exec will touch - directory, program, interpreter - in
// a goroutine that waits alone for a file system that does not answer, and
// gives texts that exec's error numbers cannot.
func preflight(ctx context.Context, sp *Spec) (programFacts, error) {
	dir, path, approved := sp.Dir, sp.Path, sp.Approved
	return promptly(ctx, path, preflightLimit, func() (programFacts, error) { return look(dir, path, approved) })
}

func look(dir, path string, approved FileStamp) (programFacts, error) {
	if err := lookDir(dir); err != nil {
		return programFacts{}, err
	}
	prog, err := lookFile(path, approved)
	if err != nil {
		return programFacts{}, err
	}
	facts := programFacts{prog}
	if prog.Kind == darwin.ProgramEmpty || prog.Kind == darwin.ProgramScript && prog.Interpreter == "" {
		return facts, &StartError{Code: CodeBadFormat, Path: path, Detail: prog.Refusal()}
	}
	if prog.Interpreter == "" {
		return facts, nil
	}
	_, err = lookFile(prog.Interpreter, FileStamp{})
	se, refused := errors.AsType[*StartError](err)
	switch {
	case !refused:
		return facts, nil
	case se.Code == CodeNotFound:
		return facts, &StartError{Code: CodeInterpreterMissing, Path: path, Err: se.Err,
			Detail: "its interpreter " + quoteOdd(prog.Interpreter) + " does not exist"}
	case se.Code == CodeResourcesExhausted:
		return facts, se
	}
	return facts, &StartError{Code: se.Code, Path: path, Err: se.Err,
		Detail: "its interpreter " + quoteOdd(prog.Interpreter) + " " + se.Detail}
}

func lookDir(dir string) error {
	fi, err := darwin.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StartError{Code: CodeCwdMissing, Path: dir, Detail: "no such directory", Err: err}
	case err != nil:
		return openError(dir, err)
	case !fi.IsDir():
		return &StartError{Code: CodeCwdNotDirectory, Path: dir, Detail: "is not a directory"}
	}
	if err := darwin.CanEnter(dir); errors.Is(err, fs.ErrPermission) {
		return &StartError{Code: CodePermissionDenied, Path: dir, Detail: "no permission to enter the directory", Err: err}
	}
	return nil
}

// lookFile looks at a program. One that may be executed but not read tells
// nothing about itself.
func lookFile(path string, approved FileStamp) (darwin.Program, error) {
	fi, err := darwin.Stat(path)
	switch {
	case err != nil:
		return darwin.Program{}, openError(path, err)
	case fi.IsDir():
		return darwin.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "is a directory"}
	case !fi.IsRegular():
		return darwin.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "is not a regular file"}
	case !fi.Executable():
		return darwin.Program{}, &StartError{Code: CodeNotExecutable, Path: path, Detail: "has no execute bit (chmod +x would set it)"}
	case approved != FileStamp{} && approved != stampOf(fi):
		return darwin.Program{}, changed(path)
	}
	head, err := darwin.ReadHead(path)
	if errors.Is(err, fs.ErrPermission) {
		return darwin.Program{}, nil
	}
	if err != nil {
		return darwin.Program{}, openError(path, err)
	}
	return darwin.ParseProgram(head), nil
}
