//go:build unix

package sys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// sunPath is the room for a socket's name with its NUL in the smallest
// sockaddr_un of the systems (104 bytes on the BSDs, 108 on Linux).
const sunPath = 104

type unixListener struct {
	*net.UnixListener
	path  string // the socket; "" once it is not ours to remove
	inode os.FileInfo
	dir   string // removed with it; may be ""
}

func listenEndpoint(path string) (listener, error) {
	if err := checkPrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	short, done, err := shortPath(path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, bareErr(err))
	}
	l.SetUnlinkOnClose(false) // it would go by the short name, and remove a successor's
	u := &unixListener{UnixListener: l, path: path}
	err = os.Chmod(path, 0o600)
	if err == nil {
		u.inode, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return u, nil
}

// checkPrivate refuses a directory that others may enter: they could connect,
// or put their own socket in place of ours.
func checkPrivate(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return fmt.Errorf("listen: %s is not a directory", dir)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("listen: %s belongs to another user", dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("listen: %s has mode %04o and lets others in", dir, fi.Mode().Perm())
	}
	return nil
}

// shortPath is another name of path that fits into a socket's address: through
// a link, in a directory of its own, to the directory of path. done removes the
// link; the socket itself lies where path says.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) < sunPath {
		return path, func() {}, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	dir, err := tempDir()
	if err != nil {
		return "", nil, err
	}
	link := filepath.Join(dir, "d")
	// Best effort: an empty directory in a place for temporary ones.
	done = func() { os.Remove(link); os.Remove(dir) }
	if err := os.Symlink(filepath.Dir(abs), link); err != nil {
		done()
		return "", nil, err
	}
	short = filepath.Join(link, filepath.Base(abs))
	if len(short) >= sunPath {
		done()
		return "", nil, fmt.Errorf("the file's name alone is too long for a socket: %w", syscall.ENAMETOOLONG)
	}
	return short, done, nil
}

func (u *unixListener) accept() (net.Conn, Peer, error) {
	c, err := u.AcceptUnix()
	if err != nil {
		return nil, Peer{}, err
	}
	p, err := askPeer(c, false)
	if err != nil {
		c.Close()
		return nil, Peer{}, err
	}
	return c, p, nil
}

func (u *unixListener) Close() error {
	err := u.UnixListener.Close()
	// A successor's socket is left alone.
	if now, serr := os.Lstat(u.path); serr == nil && os.SameFile(now, u.inode) {
		err = errors.Join(err, os.Remove(u.path))
	}
	if u.dir != "" {
		if rerr := os.Remove(u.dir); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

func dialEndpoint(ctx context.Context, path string) (net.Conn, Peer, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", path, err)
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", short)
	if err != nil {
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", path, bareErr(err))
	}
	p, err := askPeer(c.(*net.UnixConn), os.Geteuid() == 0)
	if err != nil {
		c.Close()
		return nil, Peer{}, fmt.Errorf("connect to %s: %w", path, err)
	}
	return c, p, nil
}

// askPeer asks the kernel who is at the other end, and refuses another user
// unless it is the superuser, who may do what it likes here anyway, or anybody
// will do: the superuser may ask whom it likes, and is asked by nobody else.
func askPeer(c *net.UnixConn, anybody bool) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var pid, uid int
	var peerErr error
	if err := raw.Control(func(fd uintptr) { pid, uid, peerErr = peerOf(int(fd)) }); err != nil {
		return Peer{}, err
	}
	switch {
	case errors.Is(peerErr, ErrUnsupported):
		return Peer{}, nil // the directory alone keeps others out
	case peerErr != nil:
		return Peer{}, fmt.Errorf("%w: %w", errNotIdentified, peerErr)
	case uid != os.Geteuid() && uid != 0 && !anybody:
		return Peer{}, fmt.Errorf("%w (uid %d)", ErrStranger, uid)
	}
	return Peer{PID: max(pid, 0)}, nil
}

// bareErr is the system's error without the short name that net puts before it.
func bareErr(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
