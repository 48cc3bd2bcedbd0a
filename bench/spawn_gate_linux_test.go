package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// spawnGates are how many times a bare fork, exec and wait a job may take,
// undisturbed and on a machine that has other work too: most of what is over 1 are
// wake-ups, which have to wait there, and what is done beside the job. The jobs on a
// shim come one by one, so far apart that a warm shim is ready again; those in a
// control group come as fast as they end.
var spawnGates = []struct {
	what      string
	mechanism sys.Mechanism
	crowd     int // that run meanwhile
	apart     time.Duration
	rounds    int
	most      float64
	busy      float64 // where the load counts
}{
	{"a job in a control group that is used again", sys.CgroupV2, 0, 0, 200, 1.15, 1.4},
	{"a job in a control group that is made and removed", sys.CgroupV2, spawnCrowd, 0, 200, 1.3, 1.6},
	{"a job under a shim", sys.Subreaper, 0, 50 * time.Millisecond, 40, 1.9, 1.9},
}

// spawnCrowd is more jobs than a host keeps control groups for, so that one more
// has to make its own.
const spawnCrowd = 16

// TestSpawnGate: what a job costs next to a bare fork, exec and wait, its
// container made or prepared, proved empty, and removed or given back.
func TestSpawnGate(t *testing.T) {
	gated(t)
	bare := spawnSides(t)[0].do
	for _, g := range spawnGates {
		t.Run(string(g.mechanism), func(t *testing.T) {
			do, crowd := rungSide(t, g.mechanism)
			if err := do(); err != nil {
				t.Skipf("%s: %v", g.mechanism, err)
			}
			for range g.crowd {
				crowd()
			}
			most := g.busy
			if g.mechanism != sys.Subreaper {
				most = loaded(t, g.most, g.busy)
			}
			compare(t, g.what, most, func() (ours, base figures) {
				for range g.rounds {
					for _, side := range []struct {
						do   func() error
						took *figures
					}{{bare, &base}, {do, &ours}} {
						time.Sleep(g.apart)
						begin := time.Now()
						if err := side.do(); err != nil {
							t.Fatal(err)
						}
						*side.took = append(*side.took, time.Since(begin))
					}
				}
				return ours, base
			})
		})
	}
}

// TestRoomGate: what a run and the wait for its end cost through the job room, next
// to a bare spawn and wait: the checks, the pipes, the record and the proof.
func TestRoomGate(t *testing.T) {
	gated(t)
	most := loaded(t, 1.5, 2.5)
	s := storeFor(t, spawned, job.Config{})
	compare(t, "a job of "+spawned+" and its end", most, func() (ours, bare figures) {
		for range 200 {
			bare = append(bare, spawnTrue(t))
			begin := time.Now()
			j, err := s.Run(t.Context(), job.Spec{Command: []string{spawned}})
			if err != nil {
				t.Fatal(err)
			}
			<-j.Done()
			ours = append(ours, time.Since(begin))
			if snap := j.Snapshot(); snap.State != job.Exited {
				t.Fatalf("%+v", snap)
			}
		}
		return ours, bare
	})
}

// rungSide gives what runs the program on a rung of a host of its own, and what
// starts there a job that runs until the end of the test.
func rungSide(tb testing.TB, m sys.Mechanism) (do func() error, crowd func()) {
	tb.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { null.Close() })
	o := systest.Options()
	o.Mechanism = m
	o.ThreadsLast = true // as belfry says of itself
	h, err := sys.NewHost(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Close() })
	spec := func(argv ...string) sys.Spec {
		return sys.Spec{Path: argv[0], Argv: argv, Dir: "/", Stdio: [3]*os.File{null, null, null}}
	}
	do = func() error {
		tree, err := h.Start(context.Background(), spec(spawned))
		if err != nil {
			return err
		}
		<-tree.Empty()
		return tree.Release()
	}
	crowd = func() {
		tree, err := h.Start(context.Background(), spec("/bin/sleep", "600"))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if _, err := tree.Kill(context.Background()); err != nil {
				tb.Error(err)
			}
			if err := tree.Release(); err != nil {
				tb.Error(err)
			}
		})
	}
	return do, crowd
}
