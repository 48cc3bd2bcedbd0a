package bench

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("stamp", stamp) }

const stampCount = 100

// stamp writes lines that hold the time at which they were written, 4 ms apart:
// so far that each is alone.
func stamp([]string) int {
	for range stampCount {
		<-time.After(4 * time.Millisecond)
		line := strconv.AppendInt(nil, time.Now().UnixNano(), 10)
		if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
			return 1
		}
	}
	return 0
}

// late is how long ago the lines of stamp were written.
func late(t testing.TB, text string, now time.Time) (all figures) {
	t.Helper()
	for line := range strings.Lines(text) {
		ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, now.Sub(time.Unix(0, ns)))
	}
	return all
}

// lateBlocking is a thread that sleeps in read(2).
func lateBlocking(t testing.TB, argv []string) (all figures) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Fd() // from now on it blocks
	cmd := &exec.Cmd{Path: argv[0], Args: argv, Stdout: w, Stderr: os.Stderr}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, late(t, string(b[:n]), time.Now())...)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// lateFollowed is a goroutine that waits for the lines of a job.
func lateFollowed(t testing.TB, s *job.Store, argv []string) (all figures) {
	t.Helper()
	j, err := s.Run(context.Background(), job.Spec{Command: argv})
	if err != nil {
		t.Fatal(err)
	}
	for cursor := uint64(0); ; {
		cause := j.Follow(context.Background(), cursor, ring.SelStdout, hung)
		page := j.Output(job.Query{After: cursor, Sel: ring.SelStdout})
		now := time.Now()
		for _, l := range page.Lines {
			all = append(all, late(t, l.Text, now)...)
		}
		cursor = page.Next
		if cause == job.CauseEnded {
			return all
		}
		if cause != job.CauseOutput {
			t.Fatalf("follow ended: %v", cause)
		}
	}
}

// TestFollowGate: from the write of a line until who waits for it in this process
// has it, next to a blocking read. The processor is shared as usual: a busy machine
// adds to each hop between threads, of which a blocking read has one.
func TestFollowGate(t *testing.T) {
	gated(t)
	measured(t)
	argv := helperArgv("stamp")
	s := storeFor(t, argv[0], job.Config{})
	compare(t, "from a write to a follow in this process", 2.5, func() (ours, bare figures) {
		for range 3 {
			bare = append(bare, lateBlocking(t, argv)...)
			ours = append(ours, lateFollowed(t, s, argv)...)
		}
		return ours, bare
	})
}

// storeFor is a store that may run one program, with c's limits.
func storeFor(tb testing.TB, program string, c job.Config) *job.Store {
	tb.Helper()
	o := systest.Options()
	o.ThreadsLast = true // as belfry says of itself
	c.Launcher, c.Policy, c.Dir = systest.Host(tb, o), job.PolicyFile{Path: systest.Policy(tb, program), Origin: "the bench"}, "/"
	s, err := job.NewStore(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// followGate: the same through the whole protocol; 4 to 7 times on a calm machine.
func followGate(t *testing.T, b belfry) {
	argv := helperArgv("stamp")
	c := b.connect(t, argv[0])
	compare(t, "from a write to the reply of follow", 8, func() (ours, bare figures) {
		for range 3 {
			bare = append(bare, lateBlocking(t, argv)...)
			id := begin(t, c, argv...)
			for r := (told{}); r.Reason != "terminal"; {
				r = tool(t, c, "follow", map[string]any{"job_id": id, "cursor": r.NextCursor})
				now := time.Now()
				for _, e := range r.Events {
					ours = append(ours, late(t, e.Text, now)...)
				}
			}
		}
		return ours, bare
	})
}

// BenchmarkFollow reports both ends of that comparison.
func BenchmarkFollow(b *testing.B) {
	argv := helperArgv("stamp")
	s := storeFor(b, argv[0], job.Config{})
	var ours, bare figures
	for b.Loop() {
		bare = append(bare, lateBlocking(b, argv)...)
		ours = append(ours, lateFollowed(b, s, argv)...)
	}
	for name, f := range map[string]figures{"follow": ours, "read": bare} {
		b.ReportMetric(float64(f.at(50).Nanoseconds())/1000, name+"-p50-us")
		b.ReportMetric(float64(f.at(99).Nanoseconds())/1000, name+"-p99-us")
	}
}
