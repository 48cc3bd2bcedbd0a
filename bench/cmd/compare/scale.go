package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// point is one place on a curve.
type point struct {
	n        int
	resident float64       // MiB
	each     float64       // KiB a job or follower, over what the server had before
	cpu      time.Duration // processor time a second, at rest
	switches float64       // a second: how often its threads gave up the processor
	status   float64       // ms, median of a status call
	note     string
}

// rest is for how long a server is watched that has nothing to do.
const rest = 3 * time.Second

// look describes the server, a process with that number, as it is.
func (x *session) look(pid, n int, before int64, id string) (p point, err error) {
	var calls []sample
	for range 100 {
		start := time.Now()
		if _, err := x.call("status", map[string]any{"job_id": id}); err != nil {
			return p, err
		}
		calls = append(calls, sample{took: time.Since(start)})
	}
	s := series{samples: calls}
	cpu, gave := cpuOf(pid), switchesOf(pid)
	<-time.After(rest)
	mem := statusOf(pid)["VmRSS"]
	p = point{
		n: n, resident: float64(mem) / 1024, cpu: (cpuOf(pid) - cpu) / (rest / time.Second),
		switches: float64(switchesOf(pid)-gave) / rest.Seconds(),
		status:   at(s.sorted(seconds), 50) * 1000,
	}
	if n > 0 {
		p.each = float64(mem-before) / float64(n)
	}
	return p, nil
}

// manyRunning is a server with more and more sleeping jobs.
func manyRunning(s server, counts []int) (curve []point, err error) {
	x, err := s.open(fmt.Sprintf("BELFRY_MAX_CONCURRENT_JOBS=%d", counts[len(counts)-1]+1), "BELFRY_MAX_QUEUE_DEPTH=1000")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.end()) }()
	before, id := statusOf(x.Process().Pid)["VmRSS"], ""
	have := 0
	for _, n := range counts {
		for ; have < n; have++ {
			if id, err = x.begin([]string{"sleep", "600"}); err != nil {
				return curve, err
			}
		}
		p, err := x.look(x.Process().Pid, n, before, id)
		if err != nil {
			return curve, err
		}
		curve = append(curve, p)
	}
	return curve, nil
}

// manyEnded is a server with more and more records of jobs that have ended.
func manyEnded(s server, path string, counts []int) (curve []point, err error) {
	x, err := s.open("BELFRY_MAX_QUEUE_DEPTH=100")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.end()) }()
	before, have := statusOf(x.Process().Pid)["VmRSS"], 0
	for _, n := range counts {
		for have < n {
			step := min(50, n-have)
			if _, err := x.burst(path, step); err != nil {
				return curve, err
			}
			have += step
		}
		id, err := x.begin([]string{path})
		if err == nil {
			_, err = x.finish(id)
		}
		if err != nil {
			return curve, err
		}
		have++
		p, err := x.look(x.Process().Pid, n, before, id)
		if err != nil {
			return curve, err
		}
		curve = append(curve, p)
	}
	return curve, nil
}

// curve writes the points as a table.
func curve(to *strings.Builder, title, text, what, note string, points []point, failed error) {
	fmt.Fprintf(to, "## %s\n\n%s\n\n", title, text)
	head := []string{what, "resident, MiB", "KiB each", "CPU at rest, ms/s", "switches/s", "status, ms"}
	rule := []string{"---:", "---:", "---:", "---:", "---:", "---:"}
	if note != "" {
		head, rule = append(head, note), append(rule, "---:")
	}
	cells(to, head)
	cells(to, rule)
	for _, p := range points {
		line := []string{fmt.Sprint(p.n), figure(p.resident), figure(p.each), figure(float64(p.cpu.Microseconds()) / 1000), figure(p.switches), figure(p.status)}
		if note != "" {
			line = append(line, p.note)
		}
		cells(to, line)
	}
	if failed != nil {
		fmt.Fprintf(to, "\nIt went no further: %v\n", failed)
	}
	fmt.Fprintln(to)
}
