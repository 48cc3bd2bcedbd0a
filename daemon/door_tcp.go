package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/belfry-dev/belfry/sys"
)

// tcpDoor is a port of the loopback interface. Where it is, and the secret that
// proves it, stand in the PID file.
type tcpDoor struct {
	record string
	port   atomic.Int64 // of the last dial
	token  atomic.Pointer[string]
}

func (d *tcpDoor) host() string {
	return net.JoinHostPort("127.0.0.1", strconv.FormatInt(d.port.Load(), 10))
}

// bearer is the token for a connection that has proved itself.
func (d *tcpDoor) bearer() string {
	if t := d.token.Load(); t != nil {
		return *t
	}
	return ""
}

// refresh reads where the daemon is.
func (d *tcpDoor) refresh() error {
	_, err := d.read()
	return err
}

func (d *tcpDoor) read() (record, error) {
	r, err := loadRecord(d.record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errEmptyRecord) {
		return record{}, err
	}
	if err != nil || r.Port == 0 {
		return record{}, errNobody
	}
	d.port.Store(int64(r.Port))
	d.token.Store(&r.Token)
	return r, nil
}

// dial connects and has the daemon prove that it knows the token of the PID
// file. After a crash anybody may listen on the old port: whoever cannot prove
// it learns nothing and counts as nobody, unless the recorded process lives.
func (d *tcpDoor) dial(ctx context.Context) (net.Conn, sys.ID, error) {
	r, err := d.read()
	if err != nil {
		return nil, sys.ID{}, err
	}
	id := r.Identity.id()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp4", d.host())
	if err != nil {
		if sys.NobodyListens(err) {
			return nil, id, errNobody
		}
		return nil, id, err
	}
	stop := closeOnEnd(ctx, c)
	err = prove(c, []byte(r.Token), r.Generation)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return c, id, nil
	}
	c.Close()
	if id.Alive() == sys.No {
		return nil, id, fmt.Errorf("%w: the process of the PID file is gone and a stranger has its port: %w", errNobody, err)
	}
	return nil, id, err
}

// closeOnEnd closes c when ctx ends, unless stop is called first, which then
// says true.
func closeOnEnd(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.Close() })
}

func (d *tcpDoor) listen(generation string) (threshold, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return threshold{}, fmt.Errorf("listen on the loopback interface: %w", err)
	}
	token := rand.Text()
	p := &provingListener{Listener: l, token: []byte(token), generation: generation}
	return threshold{Listener: p, endpoint: l.Addr().String(), port: l.Addr().(*net.TCPAddr).Port, token: token,
		intact: func() bool { return true }}, nil
}
