package daemon

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// After a crash a stranger listens on the old port: it learns neither the
// token nor a byte of what a client has to say, and a new daemon is started.
func TestStrangerOnThePort(t *testing.T) {
	p := newPlay(t, TCP)
	d := New(p.config())
	first := ensured(t, d)
	r, err := loadRecord(d.files.info)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, first.PID)
	l, err := net.Listen("tcp4", "127.0.0.1:"+itoa(first.Port))
	if err != nil {
		t.Skip("the port was taken by somebody else: ", err)
	}
	var heard bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var b [len(proofMagic) + nonceSize]byte
			io.ReadFull(c, b[:])
			heard.Write(b[:])
			c.Write(make([]byte, 2*nonceSize)) // a proof that is none
			rest, _ := io.ReadAll(c)
			heard.Write(rest)
			c.Close()
		}
	}()
	second := ensured(t, d)
	l.Close()
	<-done
	if second.Generation == first.Generation || second.Port == first.Port {
		t.Errorf("%+v after %+v", second, first)
	}
	if heard.Len() == 0 || strings.Contains(heard.String(), r.Token) || strings.Contains(heard.String(), "HTTP") {
		t.Errorf("the stranger heard %q", heard.Bytes())
	}
}

// One that relays to the true daemon has another address, so the proof fails.
func TestRelayIsFoundOut(t *testing.T) {
	p := newPlay(t, TCP)
	d := New(p.config())
	info := ensured(t, d)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	relayed := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		up, err := net.Dial("tcp4", "127.0.0.1:"+itoa(info.Port))
		if err != nil {
			return
		}
		defer up.Close()
		go io.Copy(c, up)
		b, _ := io.ReadAll(io.TeeReader(c, up))
		relayed <- b
	}()
	r, err := loadRecord(d.files.info)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	if err := prove(c, []byte(r.Token), r.Generation); !errors.Is(err, errNoProof) {
		t.Errorf("through a relay: %v", err)
	}
	c.Close()
	if b := <-relayed; len(b) != len(proofMagic)+nonceSize {
		t.Errorf("the relay saw %q", b)
	}
}

// Two proofs differ, so one that was overheard proves nothing.
func TestProofIsOfOneConnection(t *testing.T) {
	token, a, b := []byte(rand.Text()), make([]byte, nonceSize), bytes.Repeat([]byte{1}, nonceSize)
	base := proofOf(token, a, b, "g", "c:1", "s:1")
	for name, other := range map[string][]byte{
		"client's nonce": proofOf(token, b, b, "g", "c:1", "s:1"),
		"server's nonce": proofOf(token, a, a, "g", "c:1", "s:1"),
		"generation":     proofOf(token, a, b, "h", "c:1", "s:1"),
		"client":         proofOf(token, a, b, "g", "c:2", "s:1"),
		"server":         proofOf(token, a, b, "g", "c:1", "s:2"),
		"token":          proofOf([]byte("x"), a, b, "g", "c:1", "s:1"),
		"moved boundary": proofOf(token, a, b, "gc", ":1", "s:1"),
	} {
		if bytes.Equal(base, other) {
			t.Errorf("another %s has the same proof", name)
		}
	}
}

func TestGuard(t *testing.T) {
	p := newPlay(t, TCP)
	d := New(p.config())
	info := ensured(t, d)
	r, err := loadRecord(d.files.info)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(d.files.info); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("the PID file: %v, %v", fi.Mode(), err)
	}
	base := "http://127.0.0.1:" + itoa(info.Port)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		method, path, host, origin, token string
		want                              int
	}{
		{"GET", "/health", "", "", "", 200},
		{"POST", "/health", "", "", "", 405},
		{"GET", "/health", "evil.com", "", "", 403},
		{"GET", "/health", "", "http://evil.com", "", 403},
		{"GET", "/health", "", "http://localhost:1", "", 200},
		{"GET", "/echo", "", "", "", 401},
		{"GET", "/echo", "", "", "wrong", 401},
		{"GET", "/echo", "", "", r.Token, 200}, // the token alone is enough, as ever
		{"POST", "/daemon/shutdown", "", "", "", 401},
		{"GET", "/daemon/attach", "", "", "", 401},
		{"POST", "/daemon/attach", "", "", r.Token, 405},
		{"GET", "/daemon/attach", "evil.com", "", r.Token, 403},
	} {
		req, err := http.NewRequestWithContext(ctxOf(t), c.method, base+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.host != "" {
			req.Host = c.host
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%+v: %d", c, res.StatusCode)
		}
	}
}

// A client of the reference attaches without an upgrade: its lease is an answer
// that does not end.
func TestPlainAttach(t *testing.T) {
	p := newPlay(t, TCP)
	d := New(p.config())
	info := ensured(t, d)
	r, err := loadRecord(d.files.info)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctxOf(t), "GET", "http://127.0.0.1:"+itoa(info.Port)+"/daemon/attach", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	var first [1]byte
	if _, err := io.ReadFull(res.Body, first[:]); err != nil || first[0] != 0 || res.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%v, %v, %v", first, err, res.Header)
	}
	if s, err := d.Status(); err != nil || s.Leases != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	begin := time.Now()
	if err := d.Stop(ctxOf(t)); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > p.Shutdown {
		t.Errorf("an attached client held the stop up for %v", took)
	}
	res.Body.Close()
}

// A directory that others may enter is refused, and left as it is.
func TestUnsafeDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(dir); fi.Mode().Perm() != 0o755 {
		t.Skip("this system has no such modes")
	}
	p := play{Transport: Socket, Dir: dir}
	if _, err := New(p.config()).EnsureRunning(ctxOf(t)); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

func TestLegacyPIDFile(t *testing.T) {
	r, err := parseRecord([]byte(" 4711\n"))
	if err != nil || r.PID != 4711 {
		t.Errorf("%+v, %v", r, err)
	}
	if r.Identity.id().Alive().String() == "yes" {
		t.Error("a bare number is an identity")
	}
	b, err := json.Marshal(record{PID: 1, Identity: identity{PID: 1, Birth: "18446744073709551615", Kind: 1, Unique: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = parseRecord(b); err != nil || r.Identity.id().Birth != 1<<64-1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Somebody who accepts and never says hello is reported, and neither replaced
// nor disturbed.
func TestSilentListener(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	e, err := sys.ListenEndpoint(d.door.(*socketDoor).path)
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan net.Conn, 8)
	go func() {
		for {
			c, _, err := e.Accept()
			if err != nil {
				close(held)
				return
			}
			held <- c
		}
	}()
	_, err = d.EnsureRunning(ctxOf(t))
	var hung *UnresponsiveError
	if !errors.As(err, &hung) || hung.ID.PID != os.Getpid() {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(d.files.log); !os.IsNotExist(err) {
		t.Errorf("a daemon was started: %v", err)
	}
	c, _, err := sys.DialEndpoint(ctxOf(t), d.door.(*socketDoor).path)
	if err != nil {
		t.Errorf("its endpoint: %v", err)
	} else {
		c.Close()
	}
	e.Close()
	for c := range held {
		c.Close()
	}
}
