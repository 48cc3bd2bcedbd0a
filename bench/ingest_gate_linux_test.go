package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/client"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("pour", pour) }

// pour writes so many bytes in lines of 80 to standard output, so many a write,
// and says on standard error when it began and how long it took: poured. With a
// third argument it waits for the others there: see gate.
func pour(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	write, err := strconv.Atoi(args[1])
	if err != nil || write%80 != 0 {
		return 2
	}
	block := bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), write/80)
	if len(args) > 2 {
		if err := gate(args[2]).pass(); err != nil {
			return 1
		}
	}
	start := time.Now()
	for ; n > 0; n -= len(block) {
		if _, err := os.Stdout.Write(block); err != nil {
			return 1
		}
	}
	end := time.Now()
	fmt.Fprintln(os.Stderr, start.UnixNano(), end.Sub(start).Nanoseconds())
	return 0
}

// poured is what a pour says of itself.
type poured struct {
	start time.Time
	took  time.Duration
}

func (p poured) end() time.Time { return p.start.Add(p.took) }

func pouredOf(text string) (p poured, err error) {
	var start, took int64
	if _, err = fmt.Sscan(text, &start, &took); err != nil {
		return p, fmt.Errorf("what pour says, %q: %w", text, err)
	}
	return poured{time.Unix(0, start), time.Duration(took)}, nil
}

// pourIntoCat is pour | cat >/dev/null, each in a session of its own as a job is:
// where the kernel shares the processor by sessions, neither side has more of it.
func pourIntoCat(argv []string) (p poured, cpu time.Duration, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return p, 0, err
	}
	defer r.Close()
	defer w.Close()
	apart := &syscall.SysProcAttr{Setsid: true}
	var says strings.Builder
	cat := &exec.Cmd{Path: catPath, Args: []string{"cat"}, Stdin: r, SysProcAttr: apart}
	from := &exec.Cmd{Path: argv[0], Args: argv, Stdout: w, Stderr: &says, SysProcAttr: apart}
	if err = cat.Start(); err != nil {
		return p, 0, err
	}
	err = from.Run()
	w.Close()
	if werr := cat.Wait(); err == nil {
		err = werr
	}
	if err == nil {
		p, err = pouredOf(says.String())
	}
	return p, cat.ProcessState.UserTime() + cat.ProcessState.SystemTime(), err
}

const catPath = "/bin/cat"

// pourIntoJob has a server take the same in.
func pourIntoJob(t *testing.T, c *client.Client, argv []string, size int64) (p poured, cpu time.Duration) {
	t.Helper()
	before := cpuTime(t, c.Process().Pid)
	id := begin(t, c, argv...)
	r := finish(t, c, id)
	cpu = cpuTime(t, c.Process().Pid) - before
	if r.Counts.StdoutBytes != size {
		t.Fatalf("%d bytes were counted, want %d", r.Counts.StdoutBytes, size)
	}
	page := tool(t, c, "output", map[string]any{"job_id": id, "stream": "stderr"})
	p, err := pouredOf(page.Events[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	return p, cpu
}

// ingestGate: how fast a job may print, and what taking that in costs, next to
// the same program in front of cat.
func ingestGate(t *testing.T, b belfry) {
	intake(t, b, 200_000_000, 64_000, 30, 1/0.7, 1.9)
}

// unbufferedGate is the same for a program that writes a line at a time: cat is
// woken for each.
func unbufferedGate(t *testing.T, b belfry) {
	intake(t, b, 24_000_000, 80, 12, 1/0.7, 0.4)
}

// intake compares the time of a pour and the processor time of who reads it.
func intake(t *testing.T, b belfry, size, write, rounds int, mostTime, mostCPU float64) {
	t.Helper()
	argv := helperArgv("pour", strconv.Itoa(size), strconv.Itoa(write))
	c := b.connect(t, argv[0])
	var used, catUsed figures
	compare(t, fmt.Sprintf("%d MB of 80-byte lines, %d bytes a write", size/1e6, write), mostTime, func() (ours, cats figures) {
		for range rounds {
			p, cpu, err := pourIntoCat(argv)
			if err != nil {
				t.Fatal(err)
			}
			cats, catUsed = append(cats, p.took), append(catUsed, cpu)
			p, cpu = pourIntoJob(t, c, argv, int64(size))
			ours, used = append(ours, p.took), append(used, cpu)
		}
		return ours, cats
	})
	best := float64(used.at(0)) / float64(catUsed.at(0))
	median := float64(used.at(50)) / float64(catUsed.at(50))
	t.Logf("processor time: ours %v; cat's %v; ratio of the bests %.2f, of the medians %.2f, at most %.2f", used, catUsed, best, median, mostCPU)
	if min(best, median) > mostCPU {
		t.Errorf("taking that in takes %.2f times the processor time of cat", min(best, median))
	}
}

// gate is a folder with two FIFOs at which processes wait for each other: each
// says in the one that it is there, and goes on at the end of the other.
type gate string

func (g gate) ready() string { return filepath.Join(string(g), "ready") }
func (g gate) start() string { return filepath.Join(string(g), "go") }

func (g gate) make() error {
	return errors.Join(syscall.Mkfifo(g.ready(), 0o600), syscall.Mkfifo(g.start(), 0o600))
}

// pass waits for the others.
func (g gate) pass() error {
	start, err := os.Open(g.start())
	if err != nil {
		return err
	}
	defer start.Close()
	ready, err := os.OpenFile(g.ready(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = ready.Write([]byte{1})
	ready.Close()
	if err != nil {
		return err
	}
	if _, err = start.Read(make([]byte, 1)); err == io.EOF {
		return nil
	}
	return err
}

// close is what has to come before they are started; open lets them go on once n
// are there.
func (g gate) close() (open func(n int) error, err error) {
	start, err := os.OpenFile(g.start(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	ready, err := os.OpenFile(g.ready(), os.O_RDWR, 0)
	if err != nil {
		start.Close()
		return nil, err
	}
	return func(n int) error {
		_, err := io.ReadFull(ready, make([]byte, n))
		return errors.Join(err, ready.Close(), start.Close())
	}, nil
}

// atOnce starts so many, lets them begin together and gives the time until all
// have ended, and how many times as long the slowest took as the fastest.
func atOnce(t testing.TB, g gate, jobs int, one func() (poured, error)) (took time.Duration, spread float64) {
	t.Helper()
	open, err := g.close()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]poured, jobs)
	errs := make([]error, jobs)
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() { all[i], errs[i] = one() })
	}
	if err := open(jobs); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	first, last := all[0].start, all[0].end()
	fastest, slowest := all[0].took, all[0].took
	for i, p := range all {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if p.start.Before(first) {
			first = p.start
		}
		if p.end().After(last) {
			last = p.end()
		}
		fastest, slowest = min(fastest, p.took), max(slowest, p.took)
	}
	return last.Sub(first), slowest.Seconds() / fastest.Seconds()
}
