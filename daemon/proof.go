package daemon

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// proofMagic begins a request for proof. No HTTP request begins with a NUL.
const proofMagic = "\x00belfry-d1\n"

const nonceSize = 32

// errNoProof: who listens does not know the token.
var errNoProof = errors.New("the listener could not prove that it is the daemon")

// proofOf is what the daemon answers to a client's nonce. The addresses bind it
// to this one connection: one that relays to the true daemon has a port of its
// own. The label keeps a client's own words from being turned back at it.
func proofOf(token, client, server []byte, generation, clientAddr, serverAddr string) []byte {
	mac := hmac.New(sha256.New, token)
	for _, part := range [][]byte{[]byte("belfry-d1 server"), client, server, []byte(generation), []byte(clientAddr), []byte(serverAddr)} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		mac.Write(size[:])
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// prove asks the other end of c for proof, before anything else is sent.
func prove(c net.Conn, token []byte, generation string) error {
	if len(token) == 0 {
		return errNoProof
	}
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	if _, err := c.Write(append([]byte(proofMagic), nonce[:]...)); err != nil {
		return err
	}
	var answer [nonceSize + sha256.Size]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	want := proofOf(token, nonce[:], answer[:nonceSize], generation, c.LocalAddr().String(), c.RemoteAddr().String())
	if !hmac.Equal(want, answer[nonceSize:]) {
		return errNoProof
	}
	return nil
}

// provingListener gives proof to clients that ask for it. Those that do not
// come with the token alone, as ever.
type provingListener struct {
	net.Listener
	token      []byte
	generation string
	closed     atomic.Bool
}

func (l *provingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &provingConn{Conn: c, l: l}, nil
}

func (l *provingListener) Close() error {
	l.closed.Store(true)
	return l.Listener.Close()
}

// provingConn answers a request for proof at the first read, which is under
// the server's deadline for request headers.
type provingConn struct {
	net.Conn
	l    *provingListener
	once sync.Once
	head []byte
	err  error
}

func (c *provingConn) Read(p []byte) (int, error) {
	c.once.Do(c.open)
	if c.err != nil {
		return 0, c.err
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *provingConn) open() {
	var first [1]byte
	if _, err := io.ReadFull(c.Conn, first[:]); err != nil {
		c.err = err
		return
	}
	if first[0] != proofMagic[0] {
		c.head = first[:]
		return
	}
	var rest [len(proofMagic) - 1 + nonceSize]byte
	if _, err := io.ReadFull(c.Conn, rest[:]); err != nil {
		c.err = err
		return
	}
	magic, nonce := rest[:len(proofMagic)-1], rest[len(proofMagic)-1:]
	if !bytes.Equal(magic, []byte(proofMagic[1:])) || c.l.closed.Load() {
		c.err = errNoProof
		c.Conn.Close()
		return
	}
	var mine [nonceSize]byte
	rand.Read(mine[:])
	proof := proofOf(c.l.token, nonce, mine[:], c.l.generation, c.Conn.RemoteAddr().String(), c.Conn.LocalAddr().String())
	_, c.err = c.Conn.Write(append(mine[:], proof...))
}
