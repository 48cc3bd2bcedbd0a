package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// A stream carries both ways at once, and what is sent behind the upgrade is
// not lost.
func TestStream(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		conn, hello, err := d.DialWith(ctxOf(t), DialOptions{Role: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if s, err := d.Status(); err != nil || len(s.Clients) != 1 || s.Clients[0].Role != "tester" || s.Clients[0].ID != hello.Session {
			t.Errorf("%+v, %v", s, err)
		}
		r := reader(conn)
		// A slow line is overtaken.
		io.WriteString(conn, `{"id":1,"method":"wait","params":100}`+"\n")
		if got := ask(t, conn, r, `{"id":2,"method":"x"}`); !strings.Contains(got, `"id":2`) {
			t.Errorf("first %q", got)
		}
		if got, err := r.ReadString('\n'); err != nil || !strings.Contains(got, `"id":1`) {
			t.Errorf("then %q, %v", got, err)
		}
		// After the end of our lines, replies still come, then the end.
		io.WriteString(conn, `{"id":3,"method":"wait","params":50}`+"\n")
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || strings.Count(string(rest), "\n") != 1 || !strings.Contains(string(rest), `"id":3`) {
			t.Errorf("after the end: %q, %v", rest, err)
		}
		until(t, "the lease ends", func() bool { s, err := d.Status(); return err == nil && s.Leases == 0 })
	})
}

func TestStreamDrains(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	info := ensured(t, d)
	conn, _, err := d.Dial(ctxOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := reader(conn)
	io.WriteString(conn, `{"id":1,"method":"wait","params":500}`+"\n")
	ask(t, conn, r, `{"id":2,"method":"x"}`) // the first has been read by now
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(ctxOf(t)) }()
	rest, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(rest), `"id":1`) {
		t.Errorf("in the drain: %q, %v", rest, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	gone(t, info.PID)
}

// The daemon's end of a stream: whole lines, our own taken out, and in a drain
// the end after a line.
func TestStreamConn(t *testing.T) {
	for _, c := range []struct {
		in    string
		want  string
		lines int
		ended bool // by an end line
	}{
		{"a\nb\n", "a\nb\n", 2, false},
		{"a\n\x00end\n", "a\n", 1, true},
		{"\x00end\n", "", 0, true},
		{"a\x00b\n\x00end\n", "a\x00b\n", 1, true},
		{"a", "a", 0, false},
		{"", "", 0, false},
	} {
		here, there := net.Pipe()
		gone := make(chan struct{})
		s := newStreamConn(here, bufio.NewReader(here), newDrain(time.Second), func() {
			select {
			case <-gone:
			default:
				close(gone)
			}
		})
		go func() {
			io.WriteString(there, c.in)
			if c.ended {
				<-t.Context().Done()
			}
			there.Close()
		}()
		got, err := io.ReadAll(s)
		if err != nil || string(got) != c.want || s.lines != c.lines {
			t.Errorf("%q: %q in %d lines, %v", c.in, got, s.lines, err)
		}
		if c.ended {
			select {
			case <-gone:
				t.Errorf("%q: the client is not gone", c.in)
			default:
			}
			there.Close()
		}
		<-gone
		s.Close()
	}
}

func TestStreamConnEndsAfterALineInADrain(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	d := newDrain(patience)
	s := newStreamConn(here, bufio.NewReader(here), d, func() {})
	defer s.Close()
	go io.WriteString(there, "one\ntw")
	var got []byte
	buf := make([]byte, 6)
	if _, err := io.ReadFull(s, buf); err != nil {
		t.Fatal(err)
	}
	d.begin()
	go io.WriteString(there, "o\nthree\n")
	rest, err := io.ReadAll(s)
	got = append(buf, rest...)
	if err != nil || string(got) != "one\ntwo\n" || s.lines != 2 {
		t.Errorf("%q in %d lines, %v", got, s.lines, err)
	}
	bye := make(chan string, 1)
	go func() { line, _ := bufio.NewReader(there).ReadString('\n'); bye <- line }()
	s.bye()
	if got := <-bye; got != byeLine+"2\n" {
		t.Errorf("goodbye %q", got)
	}
}

func BenchmarkDial(b *testing.B) {
	p := benchPlay(b)
	d := New(p.config())
	for b.Loop() {
		conn, _, err := d.Dial(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		conn.Close()
	}
}

func BenchmarkPost(b *testing.B) {
	p := benchPlay(b)
	d := New(p.config())
	br := newBridge(context.Background(), d, ProxyOptions{}.withDefaults(), true, nil, func(error) {})
	l, err := d.attach(context.Background(), DialOptions{}, true)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	up := &uplink{link: l, post: d.httpClient()}
	defer up.post.CloseIdleConnections()
	for b.Loop() {
		if _, err := br.exchange(up, []byte(`{"id":1,"method":"x"}`)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	p := benchPlay(b)
	for _, inFlight := range []int{1, 64} {
		b.Run(fmt.Sprintf("in-flight=%d", inFlight), func(b *testing.B) {
			conn, _, err := New(p.config()).Dial(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			lines := []byte(strings.Repeat(`{"id":1,"method":"x"}`+"\n", inFlight))
			for n := 0; n < b.N; n += inFlight {
				if _, err := conn.Write(lines); err != nil {
					b.Fatal(err)
				}
				for range inFlight {
					if _, err := r.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func benchPlay(b *testing.B) play {
	b.Helper()
	dir, err := os.MkdirTemp("", "bd") // owner-only, unlike b.TempDir
	if err != nil {
		b.Fatal(err)
	}
	p := play{Transport: Socket, Dir: dir, Shutdown: time.Second}
	d := New(p.config())
	if _, err := d.EnsureRunning(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			b.Error(err)
		}
		os.RemoveAll(dir)
	})
	return p
}
