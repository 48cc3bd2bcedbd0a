package bench

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("gather", gather)
	systest.Register("gather-poll", gatherPoll)
}

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

// gatherPoll is the same on one thread, which takes in turns what is ready.
func gatherPoll(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	runtime.LockOSThread()
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return 1
	}
	kept, at := make([][]byte, n), make([]int, n)
	for i := range n {
		kept[i] = make([]byte, floorKept)
		ready := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
		if err := errors.Join(syscall.SetNonblock(3+i, true), syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, 3+i, &ready)); err != nil {
			return 1
		}
	}
	ready := make([]syscall.EpollEvent, n)
	for left := n; left > 0; {
		some, err := syscall.EpollWait(poll, ready, -1)
		if err != nil && err != syscall.EINTR {
			return 1
		}
		for _, e := range ready[:max(some, 0)] {
			i := int(e.Fd)
			room := kept[i][at[i] : at[i]+floorRead]
			got, err := syscall.Read(3+i, room)
			if err != nil {
				return 1
			}
			if got == 0 {
				// Not by its close: whoever started us has the pipe open as well.
				if syscall.EpollCtl(poll, syscall.EPOLL_CTL_DEL, 3+i, nil) != nil {
					return 1
				}
				left--
				continue
			}
			bytes.Count(room[:got], []byte("\n"))
			if at[i] += got; at[i] > floorKept-floorRead {
				at[i] = 0
			}
		}
	}
	return 0
}

// gathered is what one process took to take in what many wrote.
type gathered struct {
	took, cpu time.Duration
	spread    float64
}

// pourTogether has one process, which is a helper of that name, take in what so
// many write.
func pourTogether(t testing.TB, name string, g gate, jobs int, argv []string) (all gathered) {
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
	words := helperArgv(name, strconv.Itoa(jobs))
	apart := &syscall.SysProcAttr{Setsid: true}
	reader := &exec.Cmd{Path: words[0], Args: words, Stderr: os.Stderr, ExtraFiles: reads, SysProcAttr: apart}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	all.took, all.spread = atOnce(t, g, jobs, func() (p poured, err error) {
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
		t.Fatalf("%s: %v", name, err)
	}
	all.cpu = reader.ProcessState.UserTime() + reader.ProcessState.SystemTime()
	return all
}

// BenchmarkPoller compares two ways for one process to read the pipes of many
// programs: a goroutine for each, which waits in the runtime's poller, as the pumps
// do, and one thread for all.
func BenchmarkPoller(b *testing.B) {
	g := gate(b.TempDir())
	if err := g.make(); err != nil {
		b.Fatal(err)
	}
	argv := helperArgv("pour", strconv.Itoa(manyBytes), "64000", string(g))
	for _, name := range []string{"gather", "gather-poll"} {
		b.Run(name, func(b *testing.B) {
			var cpu, took time.Duration
			for b.Loop() {
				all := pourTogether(b, name, g, manyJobs, argv)
				cpu, took = cpu+all.cpu, took+all.took
			}
			gigabytes := float64(b.N) * manyJobs * manyBytes / 1e9
			b.ReportMetric(cpu.Seconds()/gigabytes, "cpu-s/GB")
			b.ReportMetric(took.Seconds()/gigabytes, "s/GB")
		})
	}
}
