package control

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

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
