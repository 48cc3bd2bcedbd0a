package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("echo-daemon", echoDaemon) }

// echoConfig is a daemon that sends back what it is sent: over streams of a
// socket, or without streams, one POST over TCP for each message.
func echoConfig(dir string, streams bool) daemon.Config {
	c := daemon.Config{Name: "echo", DataDir: filepath.Join(dir, "d"), IdleTimeout: time.Minute}
	kind := "posts"
	if streams {
		kind = "streams"
		c.Transport = daemon.Socket
		c.Stream = func(_ context.Context, conn net.Conn) { _, _ = io.Copy(conn, conn) } // until the client leaves
	}
	path, argv, _ := systest.Command("echo-daemon", dir, kind)
	c.Binary, c.Args = path, argv[1:]
	return c
}

func echoDaemon(args []string) int {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	if err := daemon.Serve(context.Background(), echoConfig(args[0], args[1] == "streams"), mux); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// message is a request whose echo is taken for its reply.
var message = []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + string(bytes.Repeat([]byte("x"), 200)) + `"}]}}` + "\n")

// line is one client of a daemon.
type line struct {
	w io.Writer
	r *bufio.Reader
}

// exchange sends so many messages, with so many on the way at once, and reads
// their echoes.
func (l line) exchange(t *testing.T, messages, flying int) time.Duration {
	t.Helper()
	sent := make(chan error, 1)
	places := make(chan struct{}, flying)
	start := time.Now()
	go func() {
		for range messages {
			places <- struct{}{}
			if _, err := l.w.Write(message); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range messages {
		got, err := l.r.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(message) {
			t.Fatalf("%d bytes came back of %d", len(got), len(message))
		}
		<-places
	}
	took := time.Since(start)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	return took
}

// bridged is a bridge to a daemon that is started.
func bridged(t *testing.T, c daemon.Config) line {
	t.Helper()
	in, us, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, ended := bound(t), make(chan error, 1)
	go func() {
		ended <- daemon.Proxy(ctx, c, daemon.ProxyOptions{Stdin: in, Stdout: out, Start: true})
	}()
	t.Cleanup(func() {
		us.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, f := range []*os.File{in, back, out} {
			f.Close()
		}
		if err := daemon.New(c).Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return line{us, bufio.NewReaderSize(back, 64<<10)}
}

// TestEchoes: both daemons of the gates echo what they are sent.
func TestEchoes(t *testing.T) {
	for _, streams := range []bool{false, true} {
		bridged(t, echoConfig(t.TempDir(), streams)).exchange(t, 20, 4)
	}
}

// TestSharedGate: a bridge to a daemon that offers streams, next to one that
// posts each message and waits for its reply; one message at a time, and 64.
func TestSharedGate(t *testing.T) {
	gated(t)
	measured(t)
	posts := bridged(t, echoConfig(t.TempDir(), false))
	streams := bridged(t, echoConfig(t.TempDir(), true))
	const messages, rounds = 400, 15
	posts.exchange(t, messages, 1)
	streams.exchange(t, messages, 1)
	var last string
	for range attempts {
		var post, one, many figures
		for range rounds {
			post = append(post, posts.exchange(t, messages, 1))
			one = append(one, streams.exchange(t, messages, 1))
			many = append(many, streams.exchange(t, messages*10, 64)/10)
		}
		t.Logf("%d messages: posted %v; streamed %v; 64 at once %v", messages, post, one, many)
		ratio := func(f figures) float64 {
			return max(float64(post.at(0))/float64(f.at(0)), float64(post.at(50))/float64(f.at(50)))
		}
		last = fmt.Sprintf("streamed %.1f times as fast, at least 3; 64 at once %.1f times, at least 20", ratio(one), ratio(many))
		t.Log(last)
		if ratio(one) >= 3 && ratio(many) >= 20 {
			return
		}
	}
	t.Errorf("%s, and never both in %d attempts", last, attempts)
}

// TestAttachGate tells how long an attach to a daemon that runs takes, hello
// included, and holds nothing: it is a time of this machine at its present load.
func TestAttachGate(t *testing.T) {
	gated(t)
	measured(t)
	c := echoConfig(t.TempDir(), true)
	bridged(t, c).exchange(t, 1, 1)
	d := daemon.New(c)
	var took figures
	for range 500 {
		start := time.Now()
		conn, _, err := d.Dial(bound(t))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		conn.Close()
	}
	t.Logf("a warm attach: %v", took)
}
