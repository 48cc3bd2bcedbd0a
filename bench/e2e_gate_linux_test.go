package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// TestBinaryGate compares what a client gets with what a program gets that
// does the same by itself, in turns.
func TestBinaryGate(t *testing.T) {
	gated(t)
	measured(t)
	b := build(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, belfry)
	}{
		{"ingest", ingestGate},
		{"unbuffered", unbufferedGate},
		{"many", manyGate},
		{"follow", followGate},
		{"run", runGate},
		{"terminal", terminalGate},
		{"burst", burstGate},
		{"start", startGate},
		{"idle", idleGate},
		{"latencies", latencies},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

// startGate: how soon a server that was started answers, next to a bare
// spawn and wait.
func startGate(t *testing.T, b belfry) {
	compare(t, "start to the reply of initialize", 12, func() (ours, bare figures) {
		for range 40 {
			bare = append(bare, spawnTrue(t))
			c, err := client.Start(b.command(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Open(bound(t)); err != nil {
				t.Fatal(err)
			}
			ours = append(ours, time.Since(c.Begun()))
			end(t, c)
		}
		return ours, bare
	})
}

// idleGate: what a server takes that has nothing to do.
func idleGate(t *testing.T, b belfry) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	c := b.connect(t, sleep)
	if _, err := c.Call(bound(t), "tools/list", nil, nil); err != nil {
		t.Fatal(err)
	}
	const most = 14 << 10 // KiB
	rss := statusField(t, c.Process().Pid, "VmRSS")
	t.Logf("idle: %.1f MiB resident", float64(rss)/1024)
	if rss > most {
		t.Errorf("an idle server takes %d KiB, more than %d", rss, most)
	}
	const jobs = 8
	for range jobs {
		begin(t, c, sleep, "300")
	}
	tool(t, c, "list", map[string]any{})
	settle(t, c)
	const span = 6 * time.Second
	before, start := cpuTime(t, c.Process().Pid), time.Now()
	if before == 0 {
		t.Skip("this kernel does not count the time on a processor (CONFIG_SCHED_INFO)")
	}
	<-time.After(span)
	used, over := cpuTime(t, c.Process().Pid)-before, time.Since(start)
	perSecond := time.Duration(float64(used) / over.Seconds())
	t.Logf("%d idle jobs: %v of a processor in %v, %v a second; %d threads, %.1f MiB resident", jobs, used, over.Round(time.Millisecond), perSecond,
		statusField(t, c.Process().Pid, "Threads"), float64(statusField(t, c.Process().Pid, "VmRSS"))/1024)
	if perSecond > 500*time.Microsecond {
		t.Errorf("%d idle jobs cost %v of a processor a second, more than 0.5 ms", jobs, perSecond)
	}
}

// settle waits until the server has used no processor for a while: what
// follows a start has been done.
func settle(t *testing.T, c *client.Client) {
	t.Helper()
	for was, end := time.Duration(-1), time.Now().Add(hung); time.Now().Before(end); <-time.After(500 * time.Millisecond) {
		now := cpuTime(t, c.Process().Pid)
		if now == was {
			return
		}
		was = now
	}
}

// cpuTime is the time on a processor of all threads of a process, as
// /proc/pid/task/tid/schedstat counts it: in nanoseconds.
func cpuTime(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}
