package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// load is what a producer is told to write.
type load struct {
	bytes int // a job
	write int // a write
	jobs  int // at once
}

// ingest takes a load in on one side. The time is the producer's; with several
// it is from the first start to the last end, starts included on every side.
type ingest struct {
	load
	dir      string // for the producers' reports
	servers  []server
	sessions map[string]*session
	reports  int
}

func (g *ingest) close() (err error) {
	for _, x := range g.sessions {
		err = errors.Join(err, x.end())
	}
	return err
}

// producer gives a new producer's argument vector and the file that it reports to.
func (g *ingest) producer() (argv []string, report string, err error) {
	g.reports++
	report = reportIn(g.dir, g.reports)
	argv, err = roleArgv("produce", strconv.Itoa(g.bytes), strconv.Itoa(g.write), report)
	return argv, report, err
}

func (g *ingest) measure(side string) (s sample, err error) {
	one := g.role
	switch {
	case side == "cat":
		one = g.cat
	case side == "node":
		one = g.node
	case g.server(side) != nil:
		return g.onServer(*g.server(side))
	}
	return g.atOnce(func(argv []string) (time.Duration, error) { return one(side, argv) })
}

func (g *ingest) server(name string) *server {
	for i := range g.servers {
		if g.servers[i].name == name {
			return &g.servers[i]
		}
	}
	return nil
}

// atOnce runs one for each job, all at once, and adds up what they used.
func (g *ingest) atOnce(one func(argv []string) (cpu time.Duration, err error)) (s sample, err error) {
	type job struct {
		argv   []string
		report string
		cpu    time.Duration
		err    error
	}
	jobs := make([]job, g.jobs)
	for i := range jobs {
		if jobs[i].argv, jobs[i].report, err = g.producer(); err != nil {
			return s, err
		}
	}
	start := time.Now()
	var all sync.WaitGroup
	for i := range jobs {
		j := &jobs[i]
		all.Go(func() { j.cpu, j.err = one(j.argv) })
	}
	all.Wait()
	s.took = time.Since(start)
	for _, j := range jobs {
		if j.err != nil {
			return s, j.err
		}
		s.cpu += j.cpu
		s.bytes += int64(g.bytes)
	}
	if g.jobs == 1 {
		s.took, err = reported(jobs[0].report)
	}
	return s, err
}

// cat is what the shell would run: producer | cat >/dev/null.
func (g *ingest) cat(_ string, argv []string) (time.Duration, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	cat := apart(exec.Command("cat"))
	cat.Stdin = r
	from := apart(exec.Command(argv[0], argv[1:]...))
	from.Stdout, from.Stderr = w, os.Stderr
	err = cat.Start()
	if err == nil {
		if err = from.Start(); err != nil {
			w.Close() // cat ends
			return 0, errors.Join(err, cat.Wait(), r.Close())
		}
	}
	w.Close()
	r.Close()
	if err != nil {
		return 0, err
	}
	err = errors.Join(from.Wait(), cat.Wait())
	return cat.ProcessState.UserTime() + cat.ProcessState.SystemTime(), err
}

// role is a program in Go that starts the producer and takes it in by itself.
func (g *ingest) role(side string, argv []string) (time.Duration, error) {
	words, err := roleArgv(side)
	if err != nil {
		return 0, err
	}
	return consumer(exec.Command(words[0], append(words[1:], argv...)...), int64(g.bytes))
}

// nodeReadline is what one would write in node.
const nodeReadline = `
const argv = process.argv.slice(1)
const child = require('node:child_process').spawn(argv[0], argv.slice(1), {stdio: ['ignore', 'pipe', 'inherit']})
let lines = [], size = 0, bytes = 0
require('node:readline').createInterface({input: child.stdout}).on('line', line => {
  bytes += line.length + 1
  lines.push(line)
  size += line.length
  while (lines.length > 10000 || size > 1048576) size -= lines.shift().length
}).on('close', () => {
  const used = process.resourceUsage()
  console.log(JSON.stringify({Bytes: bytes, CPU: (used.userCPUTime + used.systemCPUTime) * 1000}))
})`

func (g *ingest) node(_ string, argv []string) (time.Duration, error) {
	return consumer(exec.Command("node", append([]string{"-e", nodeReadline, "--"}, argv...)...), int64(g.bytes))
}

// consumer runs a program that tells what it has consumed.
func consumer(cmd *exec.Cmd, want int64) (time.Duration, error) {
	apart(cmd).Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	var c consumed
	if err := json.Unmarshal(text, &c); err != nil {
		return 0, fmt.Errorf("what it consumed: %w", err)
	}
	if c.Bytes != want {
		return 0, fmt.Errorf("it consumed %d bytes of %d", c.Bytes, want)
	}
	return c.CPU, nil
}

// onServer has a job server run the producers. One server serves all rounds, as
// it does in life.
func (g *ingest) onServer(sv server) (s sample, err error) {
	x := g.sessions[sv.name]
	if x == nil {
		if x, err = sv.open(fmt.Sprintf("BELFRY_MAX_CONCURRENT_JOBS=%d", max(g.jobs, 8)), "BELFRY_MAX_RETAINED_JOBS=64"); err != nil {
			return s, err
		}
		g.sessions[sv.name] = x
	}
	pid := x.Process().Pid
	before := cpuOf(pid)
	s, err = g.atOnce(func(argv []string) (time.Duration, error) {
		id, err := x.begin(argv)
		if err != nil {
			return 0, err
		}
		r, err := x.finish(id)
		if err == nil && (r.State != "exited" || r.ExitCode == nil || *r.ExitCode != 0) {
			err = fmt.Errorf("the producer's job is %s", r.State)
		}
		return 0, err
	})
	if after := cpuOf(pid); after > before && before > 0 {
		s.cpu = after - before
	}
	return s, err
}

// ingestSides are the sides that can be had here.
func ingestSides(servers []server, say func(string, ...any)) []string {
	sides := []string{"cat", "raw", "scanner", "strings", "diodes", "smallnest"}
	if _, err := exec.LookPath("node"); err == nil {
		sides = append(sides, "node")
	} else {
		say("node is left out: %v", err)
	}
	for _, s := range servers {
		sides = append(sides, s.name)
	}
	return sides
}
