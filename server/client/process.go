package client

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a server that the client started.
type process struct {
	cmd   *exec.Cmd
	out   *os.File // our end of its stdout
	begun time.Time
	wait  func() error // of the command, once
}

// Start starts a server and speaks with it. The command's Stdin and Stdout
// must not be set; everything else of it is the caller's.
func Start(cmd *exec.Cmd) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	// Not cmd.StdoutPipe: its reader is closed by Wait, and with it the replies
	// that are still in it would be gone.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), in.Close())
	}
	cmd.Stdout = theirs
	begun := time.Now()
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), out.Close())
	}
	c := New(out, in)
	c.process = &process{cmd: cmd, out: out, begun: begun, wait: sync.OnceValue(cmd.Wait)}
	go func() {
		<-c.done
		out.Close() // Best effort: it has been read to its end.
	}()
	return c, nil
}

// Begun is when Start began to start the server.
func (c *Client) Begun() time.Time { return c.process.begun }

// Process is the server that Start started.
func (c *Client) Process() *os.Process { return c.process.cmd.Process }

// HangUp closes the client's end of the server's stdout, as a client does that
// is gone.
func (c *Client) HangUp() error { return c.process.out.Close() }

// CloseInput ends what the client says. A server answers what it has been
// asked, ends its jobs and then itself.
func (c *Client) CloseInput() error { return c.out.Close() }

// Wait waits for the end of the server that Start started; the error is that
// of exec.Cmd.Wait. Replies may still be on their way until Done.
func (c *Client) Wait() error { return c.process.wait() }

// Close ends the input and waits for the server's end.
func (c *Client) Close() error {
	err := c.CloseInput()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, c.Wait())
}
