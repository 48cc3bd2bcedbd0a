package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/belfry-dev/belfry/sys"
)

// door is where a daemon is reached.
type door interface {
	// dial connects to a daemon that is this user's own. id is who listens, as
	// far as that is known; it is valid with some errors too. errNobody says
	// that nobody is there.
	dial(ctx context.Context) (c net.Conn, id sys.ID, err error)
	// listen opens the door of the generation. The caller holds the daemon's
	// lock, so whatever is there is left over.
	listen(generation string) (threshold, error)
	// host is what goes into the Host header.
	host() string
}

// threshold is an open door, from inside.
type threshold struct {
	net.Listener
	endpoint string
	port     int
	token    string
	intact   func() bool // still what a client finds at the endpoint
}

// errNobody: nobody listens, so a daemon may be started.
var errNobody = errors.New("nobody is there")

func doorOf(c Config, f files) door {
	if c.Transport == Socket {
		return &socketDoor{path: endpointName(f.socket), file: f.socket}
	}
	return &tcpDoor{record: f.info}
}

// socketDoor is an owner-only local endpoint.
type socketDoor struct {
	path string // what is dialled
	file string // the socket, on Unix
}

// endpointName is the endpoint of a socket's path: the path itself, on Windows
// a pipe named after it.
func endpointName(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return `\\.\pipe\belfry-` + hex.EncodeToString(sum[:8]) + "-d1"
}

func (d *socketDoor) host() string { return "localhost" }

func (d *socketDoor) dial(ctx context.Context) (net.Conn, sys.ID, error) {
	c, peer, err := sys.DialEndpoint(ctx, d.path)
	if err != nil {
		if sys.NobodyListens(err) {
			if err := d.unsafe(); err != nil {
				return nil, sys.ID{}, err
			}
			return nil, sys.ID{}, fmt.Errorf("%w: %w", errNobody, err)
		}
		return nil, sys.ID{}, err
	}
	// The connection exists, so the number is that of who listens.
	id, err := sys.Identify(peer.PID)
	if err != nil {
		id = sys.ID{PID: peer.PID}
	}
	return c, id, nil
}

// unsafe says why the socket's directory is not this user's alone, where it is
// there: that nobody is found in another's says nothing.
func (d *socketDoor) unsafe() error {
	dir := filepath.Dir(d.file)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	if _, err := sys.PrivateDir(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

func (d *socketDoor) listen(string) (threshold, error) {
	if runtime.GOOS != "windows" {
		fi, err := os.Lstat(d.file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return threshold{}, err
		case fi.Mode().Type() != fs.ModeSocket:
			return threshold{}, fmt.Errorf("%s is not a socket and was left alone; move %s away", d.file, filepath.Base(d.file))
		default:
			if err := remove(d.file); err != nil {
				return threshold{}, fmt.Errorf("remove a socket that was left over: %w", err)
			}
		}
	}
	e, err := sys.ListenEndpoint(d.path)
	if err != nil {
		return threshold{}, err
	}
	return threshold{Listener: endpointListener{e}, endpoint: d.path, intact: unmoved(d.file)}, nil
}

// endpointListener makes an endpoint a net.Listener whose connections know
// their peer.
type endpointListener struct{ e *sys.Endpoint }

func (l endpointListener) Accept() (net.Conn, error) {
	c, peer, err := l.e.Accept()
	if err != nil {
		return nil, err
	}
	return &peerConn{Conn: c, pid: peer.PID}, nil
}

func (l endpointListener) Close() error   { return l.e.Close() }
func (l endpointListener) Addr() net.Addr { return pathAddr(l.e.Name()) }

type pathAddr string

func (pathAddr) Network() string  { return "local" }
func (a pathAddr) String() string { return string(a) }

// peerConn is a connection whose other end the kernel has named.
type peerConn struct {
	net.Conn
	pid int // 0: unknown
}
