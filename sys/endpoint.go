package sys

import (
	"context"
	"errors"
	"net"
	"time"
)

// Peer is who is at the other end of a local connection, as the kernel tells
// it and never as the peer claims.
type Peer struct {
	// PID is the process that connected or listens, in this process's own
	// numbering; 0 where the system cannot tell.
	PID int
}

// ErrStranger is returned for a peer that belongs to another user.
var ErrStranger = errors.New("the peer belongs to another user")

// Endpoint is a local address at which this user's processes, and nobody
// else's, reach this one: a Unix domain socket in a directory of the owner's
// alone, on Windows a named pipe with a descriptor of the owner's alone.
type Endpoint struct {
	name string
	l    listener
}

// listener is what differs between systems.
type listener interface {
	accept() (net.Conn, Peer, error)
	Close() error
}

// ListenEndpoint listens at a path, which may be longer than the system's limit
// for a socket's name, or on Windows at a pipe's name. The path's directory must
// be the owner's alone, and nothing may be at the path.
func ListenEndpoint(name string) (*Endpoint, error) {
	l, err := listenEndpoint(name)
	if err != nil {
		return nil, err
	}
	return &Endpoint{name: name, l: l}, nil
}

// ListenTemp listens at a fresh name of its own: c.sock in a directory of its
// own, whose path is short, or a pipe with a random name. Close removes both.
func ListenTemp() (*Endpoint, error) { return listenTemp() }

// Name is the address to dial.
func (e *Endpoint) Name() string { return e.name }

// errNotIdentified: the kernel does not say who a peer is.
var errNotIdentified = errors.New("the peer cannot be identified")

// Accept waits for a connection. Peers of other users, and those that cannot be
// identified, are turned away and not reported: one bad connection keeps nobody
// else from being served. The error wraps net.ErrClosed after Close.
func (e *Endpoint) Accept() (net.Conn, Peer, error) {
	for {
		c, p, err := e.l.accept()
		if errors.Is(err, ErrStranger) || errors.Is(err, errNotIdentified) {
			continue
		}
		return c, p, err
	}
}

// Close stops listening and removes the address. Connections stay.
func (e *Endpoint) Close() error { return e.l.Close() }

// DialEndpoint connects to an endpoint and refuses one of another user
// (ErrStranger).
func DialEndpoint(ctx context.Context, name string) (net.Conn, Peer, error) {
	return dialEndpoint(ctx, name)
}

// IsTempEndpoint reports whether name has the very shape that ListenTemp makes.
// What a file claims to be an endpoint is dialled or removed only then.
func IsTempEndpoint(name string) bool { return isTempEndpoint(name) }

// TempEndpointDir is the directory that goes with a name for which
// IsTempEndpoint holds; "" on Windows, where a pipe leaves nothing behind.
func TempEndpointDir(name string) string { return tempEndpointDir(name) }

// RemoveTempEndpoint removes what ListenTemp of a process that was killed left
// behind: sockets in the directory of name, and the directory once it is empty.
// It follows no link, touches no other file, and refuses a name for which
// IsTempEndpoint does not hold. What is not there is no error.
func RemoveTempEndpoint(name string) error { return removeTempEndpoint(name) }

// SweepTempEndpoints removes what ListenTemp of killed processes of this user has
// left and nobody knows by name: directories that have not changed for age, with
// nobody who listens. What cannot be looked at or removed stays.
func SweepTempEndpoints(age time.Duration) { sweepTempEndpoints(age) }
