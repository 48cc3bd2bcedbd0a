package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/belfry-dev/belfry/windows"
)

// Probe runs a program in a Job Object both ways and looks whether it was in it.
func (h *windowsHost) Probe(ctx context.Context) Report {
	rung := Rung{Mechanism: JobObject, Guarantee: jobGuarantee}
	r := Report{OS: runtime.GOOS, Kernel: windows.Release(),
		Notes: []string{"Windows has no signals: the soft stop is left out and a kill is hard at once."}}
	err := h.try(ctx, false)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("A process cannot be born in its job (%v); it is started suspended and assigned.", err))
		err = h.try(ctx, true)
	}
	if err != nil {
		rung.Reason, rung.Guarantee = err.Error(), Guarantee{}
		rung.Remedy = "leave the job that this program runs in, or let that job allow nested jobs"
	} else {
		rung.Usable = true
		r.Best = JobObject
		r.Limits = probeLimits()
	}
	r.Rungs = []Rung{rung}
	return r
}

// try runs cmd.exe to its end inside a job of its own.
func (h *windowsHost) try(ctx context.Context, suspended bool) error {
	job, err := windows.NewJob()
	if err != nil {
		return err
	}
	defer job.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	program, err := systemShell()
	if err != nil {
		return err
	}
	line, err := windows.ShellCommandLine(program, "exit 7")
	if err != nil {
		return err
	}
	s := windows.Start{Path: program, CommandLine: line, Dir: filepath.Dir(program), Suspended: suspended,
		Env: []string{"SystemRoot=" + filepath.Dir(filepath.Dir(program))}}
	if s.Stdio, err = windows.NewStdio([3]uintptr{null.Fd(), null.Fd(), null.Fd()}); err != nil {
		return err
	}
	defer s.Stdio.Close()
	p, err := job.Start(s)
	if err != nil {
		return err
	}
	defer p.Close()
	if in, err := job.Holds(p); err != nil || !in {
		return errors.Join(err, errors.New("the process was not in its job"))
	}
	ended := make(chan struct{})
	stop, err := p.OnExit(func() { close(ended) })
	if err != nil {
		return err
	}
	defer stop()
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if code, err := p.ExitCode(); err != nil || code != 7 {
		return errors.Join(err, fmt.Errorf("a program that exits with 7 exited with %d", code))
	}
	return nil
}
