package sys

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/Microsoft/go-winio"
	"github.com/belfry-dev/belfry/windows"
)

const (
	pipePrefix = `\\.\pipe\belfry-`
	pipeBuffer = 64 << 10
)

type pipeListener struct{ net.Listener }

// listenEndpoint makes the first instance of a pipe: one that is there already
// is an error. Clients of other machines are turned away by go-winio.
func listenEndpoint(name string) (listener, error) {
	sid, err := windows.UserSID()
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", name, err)
	}
	l, err := winio.ListenPipe(name, &winio.PipeConfig{
		SecurityDescriptor: "O:" + sid + "D:P(A;;GA;;;" + sid + ")",
		InputBufferSize:    pipeBuffer,
		OutputBufferSize:   pipeBuffer,
	})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", name, err)
	}
	return pipeListener{l}, nil
}

func listenTemp() (*Endpoint, error) {
	var random [16]byte
	rand.Read(random[:])
	return ListenEndpoint(pipePrefix + hex.EncodeToString(random[:]))
}

func (l pipeListener) accept() (net.Conn, Peer, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, Peer{}, err
	}
	return c, pipePeer(c, windows.PipeClient), nil
}

// dialEndpoint lets the server learn who calls, but not act in its name.
func dialEndpoint(ctx context.Context, name string) (net.Conn, Peer, error) {
	c, err := winio.DialPipeContext(ctx, name)
	if err != nil {
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", name, err)
	}
	f, ok := c.(interface{ Fd() uintptr })
	if !ok {
		c.Close()
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", name, ErrStranger)
	}
	// Anybody can make a pipe of a name that is free.
	mine, err := windows.OwnedByUser(f.Fd())
	if err == nil && !mine {
		err = ErrStranger
	}
	if err != nil {
		c.Close()
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", name, err)
	}
	return c, pipePeer(c, windows.PipeServer), nil
}

func pipePeer(c net.Conn, read func(uintptr) (int, error)) Peer {
	f, ok := c.(interface{ Fd() uintptr })
	if !ok {
		return Peer{}
	}
	pid, err := read(f.Fd())
	if err != nil {
		return Peer{}
	}
	return Peer{PID: pid}
}

func isTempEndpoint(name string) bool {
	token, ok := strings.CutPrefix(name, pipePrefix)
	return ok && token != "" && strings.Trim(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}

func tempEndpointDir(string) string { return "" }

// removeTempEndpoint: a pipe is gone with the last handle of it.
func removeTempEndpoint(name string) error {
	if !isTempEndpoint(name) {
		return fmt.Errorf("remove endpoint: %q has not the form of one", name)
	}
	return nil
}

// sweepTempEndpoints: a pipe ends with its process.
func sweepTempEndpoints(time.Duration) {}
