package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	stamps     = 200
	stampEvery = "5ms"
)

// stampBlocking is the floor: a program whose one thread sleeps in read(2).
func stampBlocking() (late []sample, err error) {
	argv, err := roleArgv("stamp", strconv.Itoa(stamps), stampEvery)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.Fd() // Fd makes the file block, as one's own standard input does.
	cmd := apart(exec.Command(argv[0], argv[1:]...))
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	late, err = stampsIn(r)
	return late, errors.Join(err, cmd.Wait())
}

// stampsIn reads stamps to the end. On a busy machine a read brings several.
func stampsIn(r io.Reader) (late []sample, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() && err == nil {
		late, err = addStamp(late, lines.Text(), time.Now())
	}
	return late, errors.Join(err, lines.Err())
}

func addStamp(late []sample, line string, now time.Time) ([]sample, error) {
	ns, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return late, fmt.Errorf("a stamp: %w", err)
	}
	return append(late, sample{took: now.Sub(time.Unix(0, ns))}), nil
}

// stampFollowed reads the same lines through follow, one call after the other.
func (x *session) stampFollowed() (late []sample, err error) {
	argv, err := roleArgv("stamp", strconv.Itoa(stamps), stampEvery)
	if err != nil {
		return nil, err
	}
	id, err := x.begin(argv)
	if err != nil {
		return nil, err
	}
	for cursor := int64(0); ; {
		r, err := x.call("follow", map[string]any{"job_id": id, "cursor": cursor})
		if err != nil {
			return nil, err
		}
		now := time.Now()
		for _, e := range r.Events {
			if late, err = addStamp(late, e.Text, now); err != nil {
				return nil, err
			}
		}
		cursor = r.NextCursor
		if r.Reason == "terminal" {
			return late, nil
		}
	}
}

// bareTrue is a spawn and wait, and nothing else.
func bareTrue(path string, null *os.File) (time.Duration, error) {
	start := time.Now()
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{Files: []*os.File{null, null, null}})
	if err == nil {
		_, err = p.Wait()
	}
	return time.Since(start), err
}

// execTrue is what a program in Go does that wants the output.
func execTrue(path string) (time.Duration, error) {
	start := time.Now()
	_, err := exec.Command(path).CombinedOutput()
	return time.Since(start), err
}

// runTrue is run, and follow to the end.
func (x *session) runTrue(path string) (time.Duration, error) {
	start := time.Now()
	id, err := x.begin([]string{path})
	if err == nil {
		_, err = x.finish(id)
	}
	return time.Since(start), err
}

// burst sends n runs at once and waits until each has ended.
func (x *session) burst(path string, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	start := time.Now()
	failed := make(chan error, n)
	for range n {
		p, err := x.SendTool("run", map[string]any{"command": []string{path}})
		if err != nil {
			return 0, err
		}
		go func() {
			a, err := p.WaitTool(ctx)
			var r record
			if err == nil {
				err = decode(a, &r)
			}
			if err == nil {
				_, err = x.finish(r.JobID)
			}
			failed <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-failed)
	}
	return time.Since(start), err
}

// killSleep is the kill of a sleeping job, to the answer that proves it.
func (x *session) killSleep() (time.Duration, error) {
	id, err := x.begin([]string{"sleep", "300"})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	r, err := x.call("kill", map[string]any{"job_id": id})
	took := time.Since(start)
	if err == nil && r.State != "killed" {
		err = fmt.Errorf("a killed job is %s", r.State)
	}
	return took, err
}

// shutdown is the end of a server with so many sleeping jobs: from the end of its
// input to its own end.
func (s server) shutdown(jobs int) (took time.Duration, err error) {
	x, err := s.open()
	if err != nil {
		return 0, err
	}
	for range jobs {
		if _, err := x.begin([]string{"sleep", "300"}); err != nil {
			return 0, errors.Join(err, x.end())
		}
	}
	start := time.Now()
	err = x.leave()
	took = time.Since(start)
	return took, errors.Join(err, x.end())
}

// greet is from the start of a server to its first reply.
func (s server) greet() (time.Duration, error) {
	start := time.Now()
	x, err := s.open()
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, x.end()
}
