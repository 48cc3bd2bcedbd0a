package bench

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// spawnTrue is a bare spawn and wait.
func spawnTrue(t *testing.T) time.Duration {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	start := time.Now()
	p, err := os.StartProcess(spawned, []string{spawned}, &os.ProcAttr{Files: []*os.File{null, null, null}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// runGate: how soon run answers, next to a bare spawn and wait of the same
// program.
func runGate(t *testing.T, b belfry) {
	most := loaded(t, 1.2, 1.5)
	c := b.connect(t, spawned)
	compare(t, "run of "+spawned, most, func() (ours, bare figures) {
		for range 300 {
			bare = append(bare, spawnTrue(t))
			start := time.Now()
			id := begin(t, c, spawned)
			ours = append(ours, time.Since(start))
			finish(t, c, id)
		}
		return ours, bare
	})
}

// settled is how old a server is that is in use: its policy file was not written a
// moment ago, in which case it is read again for each run.
const settled = 3 * time.Second

// terminalGate: how long a client waits to know the end of a run, next to the
// same.
func terminalGate(t *testing.T, b belfry) {
	most := loaded(t, 1.6, 3)
	c := b.connect(t, spawned)
	for begun := time.Now(); time.Since(begun) < settled; {
		finish(t, c, begin(t, c, spawned))
	}
	compare(t, "run of "+spawned+" and its end", most, func() (ours, bare figures) {
		for range 400 {
			bare = append(bare, spawnTrue(t))
			start := time.Now()
			finish(t, c, begin(t, c, spawned))
			ours = append(ours, time.Since(start))
		}
		return ours, bare
	})
}

// burstGate: a hundred runs that are asked for at once, of which eight may run,
// next to a hundred bare spawns one after the other.
func burstGate(t *testing.T, b belfry) {
	const jobs = 100
	most := loaded(t, 1/0.8, 1/0.5)
	c := b.connect(t, "BELFRY_MAX_QUEUE_DEPTH=100", spawned)
	compare(t, "a burst of 100 runs", most, func() (ours, bare figures) {
		for range 12 {
			var sum time.Duration
			for range jobs {
				sum += spawnTrue(t)
			}
			bare = append(bare, sum)
			ours = append(ours, burst(t, c, jobs))
		}
		return ours, bare
	})
}

func burst(t *testing.T, c *client.Client, jobs int) time.Duration {
	t.Helper()
	start := time.Now()
	ended := make(chan error, jobs)
	for range jobs {
		p, err := c.SendTool("run", map[string]any{"command": []string{spawned}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r, err := answered(t, p)
			if err == nil {
				if p, err = c.SendTool("follow", map[string]any{"job_id": r.JobID, "cursor": never, "timeout_ms": hung.Milliseconds()}); err == nil {
					r, err = answered(t, p)
				}
			}
			if err == nil && r.Reason != "terminal" {
				err = errors.New("a job of the burst has not ended")
			}
			ended <- err
		}()
	}
	for range jobs {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

// latencies reports and holds nothing: times of this machine at its
// present load.
func latencies(t *testing.T, b belfry) {
	var allow []string
	for _, name := range []string{"sleep", "yes"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		allow = append(allow, path)
	}
	c := b.connect(t, allow...)
	var kills, statuses, busy, ends figures
	for range 30 {
		id := begin(t, c, "sleep", "300")
		start := time.Now()
		if r := tool(t, c, "kill", map[string]any{"job_id": id}); !r.KillConfirmed || r.State != "killed" {
			t.Errorf("killed: %+v", r)
		}
		kills = append(kills, time.Since(start))
	}
	idle := begin(t, c, "sleep", "300")
	ask := func() time.Duration {
		start := time.Now()
		tool(t, c, "status", map[string]any{"job_id": idle})
		return time.Since(start)
	}
	for range 200 {
		statuses = append(statuses, ask())
	}
	for range 2 {
		begin(t, c, "yes")
	}
	for range 100 {
		<-time.After(10 * time.Millisecond)
		busy = append(busy, ask())
	}
	for range 10 {
		c := b.connect(t, allow...)
		for range 8 {
			begin(t, c, "sleep", "300")
		}
		start := time.Now()
		if err := c.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, time.Since(start))
	}
	t.Logf("the end of a server with 8 sleeping jobs: %v", ends)
	t.Logf("a sleep killed and confirmed: %v", kills)
	t.Logf("status: %v", statuses)
	t.Logf("status while two jobs print without end: %v", busy)
}
