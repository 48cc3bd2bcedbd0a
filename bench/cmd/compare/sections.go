package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// report runs the comparisons and keeps what they found.
type report struct {
	binary  string
	servers []server // belfry first
	rounds  int
	load    string          // average, before anything was measured
	only    map[string]bool // sections; empty means all
	to      io.Writer       // what is said meanwhile
	say     func(string, ...any)

	tables []table
	curves strings.Builder
}

// sections are the comparisons, in the order of the report.
var sections = []struct {
	key string
	do  func(*report) error
}{
	{"ingest", (*report).ingest},
	{"follow", (*report).follow},
	{"run", (*report).runs},
	{"kill", (*report).kills},
	{"start", (*report).starts},
	{"scale", (*report).scale},
}

// choose makes the report one of the sections named, with commas between.
func (p *report) choose(names string) error {
	known := map[string]bool{}
	for _, s := range sections {
		known[s.key] = true
	}
	p.only = map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		if !known[name] {
			return fmt.Errorf("no section is called %q", name)
		}
		p.only[name] = true
	}
	return nil
}

func (p *report) run() error {
	for _, s := range sections {
		if len(p.only) > 0 && !p.only[s.key] {
			continue
		}
		p.say("== %s", s.key)
		if err := s.do(p); err != nil {
			return fmt.Errorf("%s: %w", s.key, err)
		}
	}
	return nil
}

// ours tells why belfry itself could not be measured.
func (p *report) ours() error {
	for _, t := range p.tables {
		for _, r := range t.rows {
			if r.side == "belfry" && r.failed != "" {
				return fmt.Errorf("%s: nothing was written, as there are no figures of belfry: %s", t.key, r.failed)
			}
		}
	}
	return nil
}

func (p *report) names(first ...string) []string {
	for _, s := range p.servers {
		first = append(first, s.name)
	}
	return first
}

func (p *report) add(t table, all []*series, value func(sample) float64) {
	p.tables = append(p.tables, t.tabulate(all, value))
}

func (p *report) ingest() error {
	gbPerSecond := func(s sample) float64 { return float64(s.bytes) / s.took.Seconds() / 1e9 }
	mbPerSecond := func(s sample) float64 { return 1000 * gbPerSecond(s) }
	all := ingestSides(p.servers, p.say)
	for _, c := range []struct {
		table
		load
		sides []string
		value func(sample) float64
	}{
		{table{key: "ingest", title: "Taking in lines", unit: "GB/s",
			text: "A program writes 200 MB of 80-byte lines, 64 KB a write. The time is that program's; CPU is that of the process that reads."},
			load{200_000_000, 64_000, 1}, all, gbPerSecond},
		{table{key: "unbuffered", title: "Taking in a line a write", unit: "MB/s",
			text: "The same with 16 MB, 80 bytes a write, as programs do that do not buffer."},
			load{16_000_000, 80, 1}, all, mbPerSecond},
		{table{key: "many", title: "Sixty-four jobs at once", unit: "GB/s",
			text: "Each writes 8 MB of 80-byte lines, 64 KB a write. The time is from the first start to the last end, starts included."},
			load{8_000_000, 64_000, 64}, p.names("cat", "raw"), gbPerSecond},
	} {
		c.base, c.more = "cat", true
		dir, err := os.MkdirTemp(scratch, "compare-")
		if err != nil {
			return err
		}
		g := &ingest{load: c.load, dir: dir, servers: p.servers, sessions: map[string]*session{}}
		p.say("-- %s", c.title)
		found := rounds(p.rounds, c.sides, g.measure, p.say)
		p.add(c.table, found, c.value)
		if err := g.close(); err != nil {
			p.say("end of the servers: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// opened starts each server once; those that do not start are left to measure,
// which says why.
func (p *report) opened(env ...string) (all map[string]*session, end func()) {
	all = map[string]*session{}
	for _, s := range p.servers {
		x, err := s.open(env...)
		if err != nil {
			p.say("%v", err)
			continue
		}
		all[s.name] = x
	}
	return all, func() {
		for name, x := range all {
			if err := x.end(); err != nil {
				p.say("end of %s: %v", name, err)
			}
		}
	}
}

var errNotStarted = errors.New("it has not started")

func (p *report) follow() error {
	open, end := p.opened()
	defer end()
	var all []*series
	for _, name := range p.names("blocking read") {
		all = append(all, &series{side: name})
	}
	for range max(p.rounds/4, 1) {
		for _, s := range all {
			if s.failed != "" {
				continue
			}
			var late []sample
			err := errNotStarted
			if x := open[s.side]; x != nil {
				late, err = x.stampFollowed()
			} else if s == all[0] {
				late, err = stampBlocking()
			}
			if err != nil {
				s.failed = err.Error()
				continue
			}
			s.samples = append(s.samples, late...)
		}
	}
	p.add(table{key: "follow", title: "From a write to who waits for it", unit: "µs", base: "blocking read",
		text: "A program writes a line every 5 ms, which holds the time. The floor is a program that sleeps in read(2); the others answer a follow call, through the whole protocol, and the client has decoded the reply."},
		all, micros)
	return nil
}

func micros(s sample) float64 { return s.took.Seconds() * 1e6 }
func millis(s sample) float64 { return s.took.Seconds() * 1e3 }

func (p *report) runs() error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	open, end := p.opened("BELFRY_MAX_QUEUE_DEPTH=200")
	defer end()
	timed := func(one func(x *session) (time.Duration, error)) func(string) (sample, error) {
		return func(side string) (sample, error) {
			if open[side] == nil {
				return sample{}, errNotStarted
			}
			d, err := one(open[side])
			return sample{took: d}, err
		}
	}
	sessions := timed(func(x *session) (time.Duration, error) { return x.runTrue(path) })
	quiet := func(string, ...any) {}
	p.add(table{key: "run", title: "A run of true", unit: "ms", base: "spawn",
		text: "From the call to the answer that it has ended, one after the other: run and follow through the protocol. `spawn` is a bare start and wait, `exec` what os/exec takes to collect the output."},
		rounds(p.rounds*10, p.names("spawn", "exec"), func(side string) (sample, error) {
			var d time.Duration
			switch side {
			case "spawn":
				d, err = bareTrue(path, null)
			case "exec":
				d, err = execTrue(path)
			default:
				return sessions(side)
			}
			return sample{took: d}, err
		}, quiet), millis)

	const burst = 100
	bursts := timed(func(x *session) (time.Duration, error) { return x.burst(path, burst) })
	p.add(table{key: "burst", title: "A hundred runs at once", unit: "ms", base: "spawn",
		text: "A hundred runs of true are asked for at once, of which eight may run, until the client knows the end of each; next to a hundred bare starts and waits, one after the other."},
		rounds(p.rounds, p.names("spawn"), func(side string) (s sample, err error) {
			if side != "spawn" {
				return bursts(side)
			}
			for range burst {
				d, err := bareTrue(path, null)
				if err != nil {
					return s, err
				}
				s.took += d
			}
			return s, nil
		}, quiet), millis)
	return nil
}

func (p *report) kills() error {
	open, end := p.opened()
	defer end()
	of := func(name string) *server {
		for i := range p.servers {
			if p.servers[i].name == name {
				return &p.servers[i]
			}
		}
		return nil
	}
	p.add(table{key: "kill", title: "The kill of a sleeping job", unit: "ms", base: "belfry",
		text: "From the call to the answer that says it is dead."},
		rounds(p.rounds*2, p.names(), func(side string) (sample, error) {
			if open[side] == nil {
				return sample{}, errNotStarted
			}
			d, err := open[side].killSleep()
			return sample{took: d}, err
		}, func(string, ...any) {}), millis)
	p.add(table{key: "shutdown", title: "The end of a server with eight sleeping jobs", unit: "ms", base: "belfry",
		text: "From the end of its input until its process is gone, and its jobs before it."},
		rounds(p.rounds, p.names(), func(side string) (sample, error) {
			d, err := of(side).shutdown(8)
			return sample{took: d}, err
		}, func(string, ...any) {}), millis)
	return nil
}
