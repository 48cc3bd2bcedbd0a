package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// onConnection is how many followers share a connection: of more than 128 that
// wait on one, a server refuses the rest, so that no client starves another.
const onConnection = 100

// manyFollowers is a job that says something now and then to more and more
// followers; the note is how late the last of them is told.
func manyFollowers(binary string, counts []int) (curve []point, err error) {
	for _, n := range counts {
		p, err := followers(binary, n)
		if err != nil {
			return curve, err
		}
		curve = append(curve, p)
	}
	return curve, nil
}

// shared is a background server of its own with some clients.
type shared struct {
	binary  string
	env     string // of all that speak with it
	dir     string
	pid     int // of the server
	clients []*session
}

// openShared starts the server and so many clients of it.
func openShared(binary string, clients int) (s *shared, err error) {
	s = &shared{binary: binary}
	if s.dir, err = os.MkdirTemp(scratch, "compare-"); err != nil {
		return nil, err
	}
	s.env = "BELFRY_RUNTIME_DIR=" + s.dir
	for range clients {
		x, err := server{"belfry", "'" + binary + "' mcp --shared --policy {policy}"}.open(s.env)
		if err != nil {
			return nil, errors.Join(err, s.end())
		}
		s.clients = append(s.clients, x)
	}
	var told struct{ PID int }
	text, err := s.daemon("status", "--json").Output()
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if s.pid = told.PID; err == nil && s.pid == 0 {
		err = fmt.Errorf("it has no process: %s", text)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask for the shared server: %w", err), s.end())
	}
	return s, nil
}

func (s *shared) daemon(words ...string) *exec.Cmd {
	cmd := exec.Command("env", append([]string{s.env, s.binary, "daemon"}, words...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func (s *shared) end() (err error) {
	for _, x := range s.clients {
		err = errors.Join(err, x.end())
	}
	return errors.Join(err, s.daemon("stop").Run(), os.RemoveAll(s.dir))
}

func followers(binary string, n int) (p point, err error) {
	s, err := openShared(binary, (n+onConnection-1)/onConnection)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	before := statusOf(s.pid)["VmRSS"]
	const count = 20
	argv, err := roleArgv("stamp", fmt.Sprint(count), "50ms")
	if err != nil {
		return p, err
	}
	id, err := s.clients[0].begin(argv)
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	last := make([]sample, count) // by line: when the last follower had it
	heard := make([]int, count)
	var failed error
	for i := range n {
		all.Go(func() {
			err := s.clients[i/onConnection].lateness(ctx, id, func(line int, late sample) {
				mu.Lock()
				defer mu.Unlock()
				last[line].took = max(last[line].took, late.took)
				heard[line]++
			})
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				failed = err // the others would say the same
			}
		})
	}
	all.Wait()
	if failed != nil {
		return p, failed
	}
	for line, had := range heard {
		if had != n {
			return p, fmt.Errorf("%d of %d followers heard line %d", had, n, line+1)
		}
	}
	late := series{samples: last}
	p, err = s.clients[0].look(s.pid, n, before, id)
	// They are gone by now: what counts is the most that there was.
	p.each = float64(statusOf(s.pid)["VmHWM"]-before) / float64(n)
	p.note = fmt.Sprintf("%.2f ms", at(late.sorted(seconds), 50)*1000)
	return p, err
}

// lateness follows a job of stamps to its end.
func (x *session) lateness(ctx context.Context, id string, tell func(line int, late sample)) error {
	for cursor := int64(0); ; {
		p, err := x.SendTool("follow", map[string]any{"job_id": id, "cursor": cursor})
		if err != nil {
			return err
		}
		a, err := p.WaitTool(ctx)
		now := time.Now()
		var r record
		if err == nil {
			err = decode(a, &r)
		}
		if err != nil {
			return err
		}
		for i, e := range r.Events {
			one, err := addStamp(nil, e.Text, now)
			if err != nil {
				return err
			}
			tell(int(cursor)+i, one[0])
		}
		if cursor = r.NextCursor; r.Reason == "terminal" {
			return nil
		}
	}
}
