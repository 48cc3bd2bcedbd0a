package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// statusServer gives the server itself, over one job of a helper program, and
// the job's id.
func statusServer(tb testing.TB, helper string, args ...string) (serve func(io.Reader, io.Writer) error, id string) {
	tb.Helper()
	path, argv, _ := systest.Command(helper, args...)
	store, err := job.NewStore(job.Config{Launcher: systest.Host(tb, sys.HostOptions{}),
		Policy: job.PolicyFile{Path: systest.Policy(tb, path), Origin: "BELFRY_POLICY_FILE"}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close(context.Background()) })
	j, err := store.Run(context.Background(), job.Spec{Command: argv})
	if err != nil {
		tb.Fatal(err)
	}
	if s := j.Snapshot(); s.Diagnostic != nil {
		tb.Fatalf("the job is %s: %+v", s.State, s.Diagnostic)
	}
	if helper != "sleep" {
		<-j.Done()
	}
	srv, err := server.New(store, server.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return func(in io.Reader, out io.Writer) error { return srv.Serve(context.Background(), in, out) }, j.ID()
}

// A status call of a running job, the kernel's word included, costs the server
// at most 3 KiB of allocation.
func TestStatusAllocatesLittle(t *testing.T) {
	if raced {
		t.Skip("pools forget on purpose under the race detector")
	}
	serve, id := statusServer(t, "sleep")
	if each := allocated(t, serve, 10_000, func(i int) string { return statusLine(i, id) }); each > 3<<10 {
		t.Errorf("%d bytes a call", each)
	}
}

func statusLine(i int, id string) string {
	return strings.Replace(callLine(i), `{"job_id":"3f0c0a52-6b54-4b0e-9d6a-1f2e3d4c5b6a"}`, fmt.Sprintf(`{"job_id":%q}`, id), 1)
}

func BenchmarkStatus(b *testing.B) {
	for name, argv := range map[string][]string{"running": {"sleep"}, "ended": {"exit", "0"}} {
		serve, id := statusServer(b, argv[0], argv[1:]...)
		for _, depth := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/depth=%d", name, depth), func(b *testing.B) {
				l := newWireLink(b, serve)
				l.line = func(i int) string { return statusLine(i, id) }
				b.ReportAllocs()
				b.ResetTimer()
				l.calls(b, b.N, depth)
			})
		}
	}
}

// The whole server keeps up with a hand-written loop that has its one reply
// ready, within the same bounds as the wire alone. The job has ended: the
// status of a running one asks the kernel, which no loop does for less.
func TestStatusGate(t *testing.T) {
	gated(t)
	serve, id := statusServer(t, "exit", "0")
	for _, c := range []struct {
		depth, calls int
		most         float64
	}{{64, 4000, 1.5}, {1, 2000, 3}} {
		hand, whole := newWireLink(t, wireHandLoop), newWireLink(t, serve)
		whole.line = func(i int) string { return statusLine(i, id) }
		var least [2]time.Duration
		ratio := func() float64 { return least[1].Seconds() / least[0].Seconds() }
		for round := 0; round < 40 && (round < 5 || ratio() > c.most); round++ {
			for i, l := range []*wireLink{hand, whole} {
				from := time.Now()
				l.calls(t, c.calls, c.depth)
				if took := time.Since(from); least[i] == 0 || took < least[i] {
					least[i] = took
				}
			}
		}
		t.Logf("%d in flight: %.2f of the hand-written loop", c.depth, ratio())
		if ratio() > c.most {
			t.Errorf("%d in flight: %v against %v, at most %.1f times that", c.depth, least[1], least[0], c.most)
		}
	}
}
