package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The stream protocols that this build speaks. The number goes up when an old
// client could misunderstand a new daemon, or the other way round.
const (
	protocolMin = 1
	protocolMax = 1
)

// upgradeToken is the value of the Upgrade header that turns an attach into a
// stream. Its number is the wire's: another one is another socket.
const upgradeToken = "belfry-stream/1"

// helloLimit bounds connecting, the upgrade and the hello together. A stopped
// process still accepts connections, so nothing but this finds it out.
const helloLimit = 2 * time.Second

// maxHello bounds one hello line, in bytes.
const maxHello = 1 << 20

// CapStream is the capability of a daemon that serves streams (Config.Stream).
const CapStream = "stream"

// Range is a range of protocol numbers, both ends included.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// common gives the highest number in both ranges.
func (r Range) common(o Range) (n int, ok bool) {
	n = min(r.Max, o.Max)
	return n, n >= max(r.Min, o.Min)
}

// Hello is what a daemon says of itself when a client connects.
type Hello struct {
	Protocol     Range           `json:"proto"`
	Version      string          `json:"version"` // the daemon's build
	Generation   string          `json:"gen"`     // random, of this one process
	PID          int             `json:"pid"`
	State        State           `json:"state"` // running or draining
	Capabilities []string        `json:"caps"`
	Session      string          `json:"session,omitempty"` // the id of this client's lease; "" without one
	StartTime    time.Time       `json:"started"`
	Uptime       time.Duration   `json:"uptime"` // nanoseconds
	IdleTimeout  time.Duration   `json:"idle"`   // nanoseconds
	Port         int             `json:"port,omitempty"`
	Endpoint     string          `json:"endpoint"`
	Clients      []Client        `json:"clients"`
	Busy         bool            `json:"busy"` // requests are in work, or the application keeps the daemon
	App          json.RawMessage `json:"app,omitempty"`

	name string
	log  string
}

// helloLine is a Hello as it travels.
type helloLine struct {
	Hello
	Identity identity `json:"id"` // of the process that serves
}

// greeting is the client's first line.
type greeting struct {
	Protocol Range           `json:"proto"`
	Version  string          `json:"version"`
	Role     string          `json:"role"`
	PID      int             `json:"pid"`
	Meta     json.RawMessage `json:"meta,omitempty"`
	// Generation, when not empty, is the daemon that is meant; another one
	// refuses the command.
	Generation string `json:"gen,omitempty"`
	Op         string `json:"op,omitempty"` // of roleControl
}

// roleControl asks and commands and takes no lease. What it may ask is frozen:
// every version answers it.
const roleControl = "control"

// The commands of roleControl.
const (
	opStop    = "stop"    // drain and leave
	opReplace = "replace" // leave if nobody is attached or at work
)

// outcome is the daemon's second line to a command.
type outcome struct {
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
}

func (h *Hello) can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// info is what a hello tells, in the form of Status.
func (h *Hello) info() *Info {
	i := &Info{
		Status: StatusRunning, State: h.State, PID: h.PID, Port: h.Port, Name: h.name,
		StartTime: h.StartTime, Uptime: h.Uptime, Endpoint: h.Endpoint, Version: h.Version, Generation: h.Generation,
		Protocol: h.Protocol, Capabilities: h.Capabilities, IdleTimeout: h.IdleTimeout,
		Leases: len(h.Clients), Clients: h.Clients, App: h.App, Log: h.log,
	}
	if h.State == StateDraining {
		i.Status = StatusStopping
	}
	return i
}

// errForeign: what answered does not speak the protocol.
var errForeign = errors.New("what answers there is not this daemon")

// readLine reads one line of at most most bytes, without its newline.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("%w: a line longer than %d bytes", errForeign, most)
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

func readMessage(r *bufio.Reader, v any) error {
	line, err := readLine(r, maxHello)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

func writeMessage(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

type clientKey struct{}

type drainKey struct{}

// ClientOf tells a Config.Stream whom it serves.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// DrainOf tells a Config.Stream of the drain: done is closed when it begins.
// Left is then how long requests may still be answered.
func DrainOf(ctx context.Context) (done <-chan struct{}, left func() time.Duration) {
	if d, ok := ctx.Value(drainKey{}).(*drain); ok {
		return d.begun, d.left
	}
	return nil, func() time.Duration { return 0 }
}
