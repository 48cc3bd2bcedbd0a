package sys

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

// oddListener fails as it is told, and then has one good connection.
type oddListener struct {
	errs []error
	good net.Conn
}

func (l *oddListener) accept() (net.Conn, Peer, error) {
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, Peer{}, err
	}
	return l.good, Peer{PID: 7}, nil
}

func (l *oddListener) Close() error { return nil }

// A server ends at an error of Accept, so a peer that hangs up before it is
// looked at must not be one.
func TestAcceptAfterBadPeers(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	e := &Endpoint{l: &oddListener{good: server, errs: []error{
		fmt.Errorf("%w (uid 5)", ErrStranger),
		fmt.Errorf("%w: %w", errNotIdentified, errors.New("socket is not connected")),
	}}}
	c, p, err := e.Accept()
	if err != nil || c != server || p.PID != 7 {
		t.Errorf("accepted %v of %+v: %v", c, p, err)
	}
	broken := errors.New("broken")
	e = &Endpoint{l: &oddListener{errs: []error{broken}}}
	if _, _, err := e.Accept(); !errors.Is(err, broken) {
		t.Errorf("another error: %v", err)
	}
}
