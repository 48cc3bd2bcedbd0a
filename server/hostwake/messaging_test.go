package hostwake

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	authWritten = `{"type":"auth","token":"secret"}` + "\n"
	userWritten = `{"type":"user","message":{"role":"user","content":"job <1> ended"}}` + "\n"
)

// host is a fake of the one that listens on a messaging socket.
type host struct {
	path string
	// take looks at a line and says whether the host keeps the connection.
	take func(line string) bool

	mu    sync.Mutex
	heard [][]string // lines of each connection
}

// listen starts a host on a socket; its folder is short, since a socket's path
// may have 104 bytes on some systems.
func listen(t *testing.T, take func(string) bool) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "bw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &host{path: filepath.Join(dir, "s"), take: take}
	l, err := net.Listen("unix", h.path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.heard = append(h.heard, nil)
			h.mu.Unlock()
			serving.Go(func() { h.serve(n, conn) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return h
}

func (h *host) serve(n int, conn net.Conn) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		l, err := r.ReadString('\n')
		if err != nil {
			return
		}
		h.mu.Lock()
		h.heard[n] = append(h.heard[n], l)
		h.mu.Unlock()
		if !h.take(l) {
			return
		}
	}
}

// said gives the lines of each connection, one string a connection.
func (h *host) said() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, lines := range h.heard {
		all = append(all, strings.Join(lines, ""))
	}
	return all
}

func wantSaid(t *testing.T, h *host, want ...string) {
	t.Helper()
	got := h.said()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the host heard\n%q, want\n%q", got, want)
	}
}

func want(t *testing.T, got Outcome, result Result, permanent bool, detail string) {
	t.Helper()
	if got.Result != result || got.Permanent != permanent || !strings.Contains(got.Detail, detail) {
		t.Errorf("outcome %+v, want %s, permanent %v, detail with %q", got, result, permanent, detail)
	}
	if strings.Contains(got.Detail, "secret") {
		t.Errorf("the detail %q holds the token", got.Detail)
	}
}

func TestMessagingDelivers(t *testing.T) {
	t.Parallel()
	h := listen(t, func(string) bool { return true })
	m := NewMessaging(h.path, "secret")
	want(t, m.Wake(t.Context(), "job <1> ended"), Delivered, false, "kept")
	wantSaid(t, h, authWritten, authWritten+userWritten)
	want(t, m.Wake(t.Context(), "job <1> ended"), Delivered, false, "kept")
	wantSaid(t, h, authWritten, authWritten+userWritten, authWritten+userWritten)
}

func TestMessagingTokenRefused(t *testing.T) {
	t.Parallel()
	h := listen(t, func(l string) bool { return l != authWritten })
	m := NewMessaging(h.path, "secret")
	want(t, m.Wake(t.Context(), "job <1> ended"), Refused, false, "token")
	wantSaid(t, h, authWritten)
}

// A host that drops the text is asked again with the token alone.
func TestMessagingTextRefused(t *testing.T) {
	t.Parallel()
	h := listen(t, func(l string) bool { return l != userWritten })
	m := NewMessaging(h.path, "secret")
	want(t, m.Wake(t.Context(), "job <1> ended"), Refused, false, "hung up")
	want(t, m.Wake(t.Context(), "job <1> ended"), Refused, false, "hung up")
	wantSaid(t, h, authWritten, authWritten+userWritten, authWritten, authWritten+userWritten)
}

func TestMessagingNobody(t *testing.T) {
	t.Parallel()
	want(t, NewMessaging("", "secret").Wake(t.Context(), "x"), Unavailable, true, "no messaging socket")
	want(t, NewMessaging("/somewhere", "").Wake(t.Context(), "x"), Unavailable, true, "no messaging socket")

	gone := filepath.Join(t.TempDir(), "s")
	want(t, NewMessaging(gone, "secret").Wake(t.Context(), "x"), Unavailable, false, "connect to the messaging socket")
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, NewMessaging(gone, "secret").Wake(t.Context(), "x"), Unavailable, false, "connect to the messaging socket")
}

// The socket vanishes between two attempts, and a host comes back at it.
func TestMessagingVanishes(t *testing.T) {
	t.Parallel()
	h := listen(t, func(string) bool { return true })
	m := NewMessaging(h.path, "secret")
	want(t, m.Wake(t.Context(), "job <1> ended"), Delivered, false, "")
	aside := h.path + "x"
	if err := os.Rename(h.path, aside); err != nil {
		t.Fatal(err)
	}
	want(t, m.Wake(t.Context(), "job <1> ended"), Unavailable, false, "connect")
	if err := os.Rename(aside, h.path); err != nil {
		t.Fatal(err)
	}
	want(t, m.Wake(t.Context(), "job <1> ended"), Delivered, false, "")
	wantSaid(t, h, authWritten, authWritten+userWritten, authWritten, authWritten+userWritten)
}

// onPipe makes the transport dial a host that serve plays, in memory, until it
// is done.
func onPipe(t *testing.T, serve func(n int, conn net.Conn)) *Messaging {
	m := NewMessaging("in memory", "secret")
	n := 0
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	m.dial = func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		of := n
		n++
		serving.Go(func() { serve(of, theirs) })
		return ours, nil
	}
	return m
}

func TestMessagingDropWindow(t *testing.T) {
	for _, c := range []struct {
		after  time.Duration
		result Result
	}{
		{0, Refused},
		{dropWindow - time.Millisecond, Refused},
		{dropWindow + time.Millisecond, Delivered},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := onPipe(t, func(n int, conn net.Conn) {
				defer conn.Close()
				if n == 0 {
					io.Copy(io.Discard, conn)
					return
				}
				r := bufio.NewReader(conn)
				r.ReadString('\n')
				r.ReadString('\n')
				time.Sleep(c.after)
			})
			begin := time.Now()
			want(t, m.Wake(t.Context(), "x"), c.result, false, "")
			if c.result == Delivered {
				if took := time.Since(begin); took != 2*dropWindow {
					t.Errorf("delivered after %v, want %v", took, 2*dropWindow)
				}
			}
		})
	}
}

// A host that answers is heard out, and its hanging up behind that is seen.
func TestMessagingTalkativeHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := onPipe(t, func(n int, conn net.Conn) {
			defer conn.Close()
			bufio.NewReader(conn).ReadString('\n')
			io.WriteString(conn, strings.Repeat("no ", 9000))
		})
		want(t, m.Wake(t.Context(), "x"), Refused, false, "token")
	})
}

func TestMessagingDeafHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := onPipe(t, func(n int, conn net.Conn) {
			time.Sleep(time.Minute)
			conn.Close()
		})
		begin := time.Now()
		want(t, m.Wake(t.Context(), "x"), Refused, false, "")
		if took := time.Since(begin); took != connectLimit {
			t.Errorf("given up after %v, want %v", took, connectLimit)
		}
	})
}

func TestMessagingInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := onPipe(t, func(n int, conn net.Conn) { io.Copy(io.Discard, conn) })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		want(t, m.Wake(ctx, "x"), Threw, false, context.DeadlineExceeded.Error())

		m.dial = func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("operation was canceled")
		}
		want(t, m.Wake(ctx, "x"), Threw, false, context.DeadlineExceeded.Error())
	})
}
