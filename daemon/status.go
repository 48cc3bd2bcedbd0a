package daemon

import (
	"encoding/json"
	"fmt"
	"time"
)

// Status is a daemon's state as the numbers that Info has always had; State
// says the same in words.
type Status int

// The values of Status.
const (
	StatusStopped  Status = iota // nobody answers
	StatusStarting               // started, not ready yet; told by nobody who asks
	StatusRunning                // it answers
	StatusStopping               // it drains
	StatusError                  // it is there and does not answer
)

// String gives the lower-case name.
func (s Status) String() string {
	switch s {
	case StatusStopped:
		return "stopped"
	case StatusStarting:
		return "starting"
	case StatusRunning:
		return "running"
	case StatusStopping:
		return "stopping"
	case StatusError:
		return "error"
	}
	return fmt.Sprintf("unknown(%d)", int(s))
}

// State is what Status reports in words.
type State string

// The states. The last three are of a daemon that does not run.
const (
	StateRunning      State = "running"
	StateDraining     State = "draining"
	StateUnresponsive State = "unresponsive"
	StateStopped      State = "stopped"
	StateHeld         State = "held"
	StateCooling      State = "cooling"
)

// Info is what is known of a daemon. Fields that do not apply are zero.
type Info struct {
	Status    Status        `json:"status"`
	PID       int           `json:"pid"`
	Port      int           `json:"port"` // TCP only
	Name      string        `json:"name"`
	StartTime time.Time     `json:"startTime"`
	Uptime    time.Duration `json:"uptime"`

	State        State           `json:"state"`
	Endpoint     string          `json:"endpoint"` // address, or path of the socket
	Version      string          `json:"version"`
	Generation   string          `json:"generation"` // random, of this one process
	Protocol     Range           `json:"protocol"`
	Capabilities []string        `json:"capabilities"`
	IdleTimeout  time.Duration   `json:"idleTimeout"`
	Leases       int             `json:"leases"` // attached clients
	Clients      []Client        `json:"clients"`
	App          json.RawMessage `json:"app,omitempty"` // Config.Report
	Held         *Held           `json:"held,omitempty"`
	Cooldown     *Cooldown       `json:"cooldown,omitempty"`
	Log          string          `json:"log"` // path of the log file
}

// Client is one attached client.
type Client struct {
	ID    string    `json:"id"`   // unique in one daemon
	Role  string    `json:"role"` // what it said it is, such as "mcp"
	PID   int       `json:"pid"`  // told by the kernel where it can, else by the client
	Since time.Time `json:"since"`
	// Meta is what the client sent along (DialOptions.Meta).
	Meta json.RawMessage `json:"-"`
}
