package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("gather", gather) }

const (
	floorPipe = 512 << 10 // bytes, of each pipe
	floorRead = 256 << 10 // bytes, at most of a read
	floorKept = 1 << 20   // bytes, into which each reads in turns
)

// gather is the floor of a server that takes in many jobs: one process that reads
// the pipes that it was started with, so many from descriptor 3 on, to their ends,
// each into a megabyte of its own.
func gather(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		fd := 3 + i
		if err := syscall.SetNonblock(fd, true); err != nil {
			return 1
		}
		r := os.NewFile(uintptr(fd), "pipe")
		kept := make([]byte, floorKept)
		all.Go(func() {
			for at := 0; errs[i] == nil; {
				var got int
				got, errs[i] = r.Read(kept[at : at+floorRead])
				bytes.Count(kept[at:at+got], []byte("\n"))
				if at += got; at > len(kept)-floorRead {
					at = 0
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != io.EOF {
			return 1
		}
	}
	return 0
}

// pourTogether has gather take in what so many write.
func pourTogether(t *testing.T, g gate, jobs int, argv []string) (took time.Duration, spread float64) {
	t.Helper()
	var reads []*os.File
	writes := make(chan *os.File, jobs)
	for range jobs {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		reads = append(reads, r)
		writes <- w
		const setPipeSize = 1031 // F_SETPIPE_SZ. Best effort: a smaller one is slower.
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), setPipeSize, floorPipe)
	}
	words := helperArgv("gather", strconv.Itoa(jobs))
	apart := &syscall.SysProcAttr{Setsid: true}
	reader := &exec.Cmd{Path: words[0], Args: words, Stderr: os.Stderr, ExtraFiles: reads, SysProcAttr: apart}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	took, spread = atOnce(t, g, jobs, func() (p poured, err error) {
		var says strings.Builder
		w := <-writes
		from := &exec.Cmd{Path: argv[0], Args: argv, Stdout: w, Stderr: &says, SysProcAttr: apart}
		if err = errors.Join(from.Start(), w.Close()); err == nil {
			err = from.Wait()
		}
		if err != nil {
			return p, err
		}
		return pouredOf(says.String())
	})
	if err := reader.Wait(); err != nil {
		t.Fatal("gather:", err)
	}
	return took, spread
}

// manyGate: sixty-four jobs that print at once next to sixty-four times cat, from
// a common start, and next to one process that does no more than read; and how far
// apart the first and the last end. Where the kernel shares the processor by
// sessions, sixty-four cats have sixty-four shares of a busy machine, and one server
// has one, as that process has: the bound next to cat is that of a busy machine.
func manyGate(t *testing.T, b belfry) {
	const jobs, size = 64, 8_000_000
	g := gate(t.TempDir())
	if err := g.make(); err != nil {
		t.Fatal(err)
	}
	argv := helperArgv("pour", strconv.Itoa(size), "64000", string(g))
	c := b.connect(t, fmt.Sprintf("BELFRY_MAX_CONCURRENT_JOBS=%d", jobs), argv[0])
	var all, cats figures
	var spreads, catSpreads []float64
	round := func() (took, floor time.Duration) {
		took, spread := atOnce(t, g, jobs, func() (poured, error) {
			p, _, err := pourIntoCat(argv)
			return p, err
		})
		cats, catSpreads = append(cats, took), append(catSpreads, spread)
		took, spread = atOnce(t, g, jobs, func() (p poured, err error) {
			id := begin(t, c, argv...)
			finish(t, c, id)
			page := tool(t, c, "output", map[string]any{"job_id": id, "stream": "stderr"})
			return pouredOf(page.Events[0].Text)
		})
		all, spreads = append(all, took), append(spreads, spread)
		floor, _ = pourTogether(t, g, jobs, argv)
		return took, floor
	}
	compare(t, fmt.Sprintf("%d jobs of %d MB at once, next to one process", jobs, int(size/1e6)), 1.25, func() (ours, floors figures) {
		for range 8 {
			took, floor := round()
			ours, floors = append(ours, took), append(floors, floor)
		}
		return ours, floors
	})
	const most = 1.9
	best := float64(all.at(0)) / float64(cats.at(0))
	median := float64(all.at(50)) / float64(cats.at(50))
	t.Logf("%d times cat: %v; ours by that: bests %.2f, medians %.2f, at most %.2f", jobs, cats, best, median, most)
	if min(best, median) > most {
		t.Errorf("%d jobs take %.2f times as long as %d times cat", jobs, min(best, median), jobs)
	}
	slices.Sort(spreads)
	slices.Sort(catSpreads)
	t.Logf("slowest by fastest: ours best %.2f, median %.2f; cat's best %.2f, median %.2f",
		spreads[0], spreads[len(spreads)/2], catSpreads[0], catSpreads[len(catSpreads)/2])
	if most := 1.5 * max(1, catSpreads[0]); spreads[0] > most {
		t.Errorf("the slowest job takes %.2f times as long as the fastest, more than %.2f", spreads[0], most)
	}
}
