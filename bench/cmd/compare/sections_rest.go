package main

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

func (p *report) starts() error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	named := map[string]server{}
	for _, s := range p.servers {
		named[s.name] = s
	}
	p.add(table{key: "start", title: "A server's first answer", unit: "ms", base: "spawn",
		text: "From the start of the server, by sh and env, to its answer to initialize."},
		rounds(p.rounds, p.names("spawn"), func(side string) (sample, error) {
			d, err := time.Duration(0), error(nil)
			if s, ok := named[side]; ok {
				d, err = s.greet()
			} else {
				d, err = bareTrue(path, null)
			}
			return sample{took: d}, err
		}, func(string, ...any) {}), millis)
	if statusOf(os.Getpid()) == nil {
		return nil
	}
	p.add(table{key: "memory", title: "An idle server's memory", unit: "MiB", base: "belfry",
		text: "Resident, after tools/list."},
		rounds(3, p.names(), func(side string) (s sample, err error) {
			x, err := named[side].open()
			if err != nil {
				return s, err
			}
			if _, err = x.call("list", map[string]any{}); err == nil {
				s.value = float64(statusOf(x.Process().Pid)["VmRSS"]) / 1024
			}
			return s, errors.Join(err, x.end())
		}, func(string, ...any) {}), func(s sample) float64 { return s.value })
	return nil
}

// scale is about belfry alone: no other server is asked for a thousand jobs.
func (p *report) scale() error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	if statusOf(os.Getpid()) == nil {
		p.say("left out: memory and wakeups can be told on Linux only")
		return nil
	}
	ours := p.servers[0]
	running, err := manyRunning(ours, []int{1, 10, 100, 1000})
	curve(&p.curves, "More and more running jobs", "Each is a `sleep`; what containment costs in helper processes of its own is not in the server's memory.", "jobs", "", running, err)
	ended, err := manyEnded(ours, path, []int{0, 100, 1000, 10_000})
	curve(&p.curves, "More and more ended jobs", "Each was a `true`. Their records are kept; the output of the last 200 would be, too.", "records", "", ended, err)
	told, err := manyFollowers(p.binary, []int{1, 10, 100, 200})
	curve(&p.curves, "More and more followers of one job", "Of one shared server, a hundred at most on a connection. The job writes a line every 50 ms; the last column is when the last follower has its reply, at the median.", "followers", "last told after", told, err)
	return nil
}
