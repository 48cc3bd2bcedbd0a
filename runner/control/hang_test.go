package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// Who asks one that is stopped is told which process it is, and what can be done.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	e, err := sys.ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, _, err := e.Accept(); err == nil {
			defer c.Close()
			c.Read(make([]byte, 1<<10)) // what is asked, and no answer until the asker leaves
			c.Read(make([]byte, 1))
		}
	}()
	_, err = Inspect(t.Context(), e.Name(), "a run")
	if !errors.Is(err, ErrDeadline) {
		t.Errorf("%v", err)
	}
	if want := fmt.Sprintf("process %d is stopped or hangs", os.Getpid()); runtime.GOOS == "linux" && !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	<-asked
}

// A verb is answered while others say nothing, or half of one: it does not wait
// until they are given up.
func TestAnsweredBesideSilentPeers(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	const tries = 5 // a busy machine may take longer for an answer than a silent peer is granted
	asked := int32(0)
	for beside := false; !beside; {
		if asked == tries {
			t.Fatal("answered only when the silent ones were given up")
		}
		silent := []net.Conn{dial(t, s.Endpoint()), dial(t, s.Endpoint())}
		if _, err := silent[1].Write([]byte("ki")); err != nil {
			t.Fatal(err)
		}
		if _, err := Kill(t.Context(), s.Endpoint(), "a run", nil); err != nil {
			t.Fatal(err)
		}
		asked++
		beside = true
		for _, c := range silent {
			if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				beside = false
			}
			c.Close()
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if f.killed.Load() != asked {
		t.Errorf("killed %d times, asked %d", f.killed.Load(), asked)
	}
}
