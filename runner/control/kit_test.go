package control

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) { systest.Main(m) }

// fakeRun counts what is asked of it.
type fakeRun struct {
	cancelled, killed atomic.Int32
	members           []Member
	inside            bool
	unreadable        error
	hold              chan struct{} // Snapshot waits for it

	mu      sync.Mutex
	signals []string
	graces  []time.Duration
}

func (f *fakeRun) Snapshot() Snapshot {
	if f.hold != nil {
		<-f.hold
	}
	return Snapshot{Mechanism: "cgroup_v2", StartedAt: "2026-01-02T03:04:05.678Z", Members: f.members}
}

func (f *fakeRun) Contains(pid int) (bool, error) {
	return f.inside && pid == os.Getpid(), f.unreadable
}

func (f *fakeRun) Cancel() { f.cancelled.Add(1) }

func (f *fakeRun) Signal(_ context.Context, name string, grace *time.Duration) error {
	if name != "SIGUSR1" && name != "SIGTERM" {
		return errors.New("no such signal")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, name)
	if grace != nil {
		f.graces = append(f.graces, *grace)
	}
	return nil
}

func (f *fakeRun) Kill() { f.killed.Add(1) }

func serve(t *testing.T, f *fakeRun) *Server {
	t.Helper()
	return listen(t, "a run", f, nil)
}

func listen(t *testing.T, name string, run Handler, desk Desk) *Server {
	t.Helper()
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	s, err := Listen(name, run, desk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial is a peer that speaks the protocol by hand.
func dial(t *testing.T, name string) net.Conn {
	t.Helper()
	c, _, err := sys.DialEndpoint(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func say(t *testing.T, name, line string) string {
	t.Helper()
	c := dial(t, name)
	if _, err := c.Write([]byte(line)); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatalf("%.40q: %q %v", line, answer, err)
	}
	return answer
}
