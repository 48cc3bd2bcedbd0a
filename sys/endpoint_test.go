package sys

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// greet serves one peer, tells who it was and echoes what it says.
func greet(t *testing.T, e *Endpoint) <-chan Peer {
	t.Helper()
	who := make(chan Peer, 1)
	go func() {
		defer close(who)
		c, p, err := e.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		who <- p
		io.Copy(c, c)
	}()
	return who
}

// talk dials and gets its own words back.
func talk(t *testing.T, name string) Peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, p, err := DialEndpoint(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Fatalf("%q %v", b, err)
	}
	return p
}

func TestTempEndpoint(t *testing.T) {
	skipUnderWine(t, "a client may connect to the pipe that only holds the name, where nobody answers")
	e, err := ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	if !IsTempEndpoint(e.Name()) {
		t.Errorf("%s is not recognised", e.Name())
	}
	client := greet(t, e)
	server := talk(t, e.Name())
	if c := <-client; c.PID != server.PID {
		t.Errorf("this process was seen as %d and as %d", c.PID, server.PID)
	}
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
		if server.PID != os.Getpid() {
			t.Errorf("the kernel names %d, not %d", server.PID, os.Getpid())
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := e.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	if _, _, err := DialEndpoint(t.Context(), e.Name()); err == nil {
		t.Error("dialled after close")
	}
	if dir := TempEndpointDir(e.Name()); dir != "" {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", dir, err)
		}
	}
}
