package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) { systest.Main(m) }

// patience bounds every wait for what must happen.
const patience = 30 * time.Second

// play is what a started daemon does.
type play struct {
	Transport Transport
	Dir       string
	Idle      time.Duration
	Shutdown  time.Duration
	Version   string
	Caps      []string
	NoStream  bool

	Before string // exit, hang, slow, wrap: what happens before Serve
	Child  []string
}

func init() { systest.Register("daemon", playDaemon) }

func playDaemon(args []string) int {
	var p play
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	switch p.Before {
	case "exit":
		fmt.Fprintln(os.Stderr, "no such room: attic")
		return 7
	case "hang":
		if err := exec.Command(p.Child[0], p.Child[1:]...).Start(); err != nil {
			return 3
		}
		<-time.After(time.Minute)
	case "slow":
		<-time.After(time.Second)
	case "wrap": // starts the real daemon as a child, which inherits the pipe
		p.Before = ""
		return wrapped(p)
	}
	// Bounded, for a test that was killed stops nothing.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := Serve(ctx, p.config(), testApp()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// wrapped is what a shell script does: its child gets its descriptors.
func wrapped(p play) int {
	path, argv := p.command()
	cmd := exec.Command(path, argv...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "ready")}
	if err := cmd.Run(); err != nil {
		return 5
	}
	return 0
}

func (p play) command() (path string, args []string) {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	path, argv, _ := systest.Command("daemon", string(b))
	return path, argv[1:]
}

// config is that of the daemon and of its clients.
func (p play) config() Config {
	c := Config{
		Name: "test", DataDir: p.Dir, IdleTimeout: p.Idle, ShutdownTimeout: p.Shutdown, Transport: p.Transport,
		Version: p.Version, Capabilities: p.Caps, Timeout: patience,
	}
	if !p.NoStream {
		c.Stream = echoStream
	}
	c.Binary, c.Args = p.command()
	return c
}

// testApp answers /echo with its body and /slow after its duration.
func testApp() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		line, _ := io.ReadAll(r.Body)
		if out := answerTo(line); out != nil {
			w.Write(out)
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.URL.Query().Get("for"))
		select {
		case <-time.After(d):
			io.WriteString(w, "whole")
		case <-r.Context().Done():
			http.Error(w, "cut", http.StatusTeapot)
		}
	})
	mux.HandleFunc("/stubborn", func(http.ResponseWriter, *http.Request) { <-time.After(time.Minute) })
	return mux
}

// answerTo is the reply to a JSON-RPC line, nil for a notification: its own
// params, or nothing for the method "silent".
func answerTo(line []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "silent" {
		return nil
	}
	if m.Params == nil {
		m.Params = json.RawMessage("{}")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"method":%q,"params":%s,"pid":%d}}`, m.ID, m.Method, m.Params, os.Getpid())
}

// echoStream answers every line; one with the method "wait" after the number
// of milliseconds in its params, beside the others. At the end of the input it
// answers what waits, as long as the drain allows.
func echoStream(ctx context.Context, conn net.Conn) {
	var open atomic.Int64
	var mu sync.Mutex
	write := func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		conn.Write(append(line, '\n'))
	}
	done := make(chan struct{}, 1024)
	sc := bufio.NewScanner(conn)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		line := append([]byte(nil), sc.Bytes()...)
		var m struct {
			Method string `json:"method"`
			Params int    `json:"params"`
		}
		_ = json.Unmarshal(line, &m)
		if m.Method == "notify" {
			write([]byte(`{"jsonrpc":"2.0","method":"told"}`))
		}
		if m.Method != "wait" {
			if a := answerTo(line); a != nil {
				write(a)
			}
			continue
		}
		open.Add(1)
		go func() {
			select {
			case <-time.After(time.Duration(m.Params) * time.Millisecond):
				write(answerTo(line))
			case <-ctx.Done():
			}
			open.Add(-1)
			done <- struct{}{}
		}()
	}
	for open.Load() > 0 {
		<-done
	}
}

// newPlay gives a daemon in a directory of its own, which is stopped at the end
// of the test.
func newPlay(t *testing.T, transport Transport) play {
	t.Helper()
	dir, err := os.MkdirTemp("", "bd")
	if err != nil {
		t.Fatal(err)
	}
	p := play{Transport: transport, Dir: dir, Shutdown: 5 * time.Second}
	t.Cleanup(func() {
		if err := New(p.config()).Stop(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return p
}

// onBoth runs a test over each transport.
func onBoth(t *testing.T, f func(t *testing.T, p play)) {
	for _, transport := range []Transport{Socket, TCP} {
		t.Run(string(transport), func(t *testing.T) { f(t, newPlay(t, transport)) })
	}
}

func ctxOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until polls where no event can be waited for.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// gone waits for the end of a daemon.
func gone(t *testing.T, pid int) {
	t.Helper()
	until(t, fmt.Sprintf("process %d ends", pid), func() bool {
		_, err := sys.Identify(pid)
		return err != nil
	})
}

func kill(t *testing.T, pid int) {
	t.Helper()
	id, err := sys.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := sys.EndProcess(ctxOf(t), id); err != nil {
		t.Fatal(err)
	}
}

func ensured(t *testing.T, d *Daemon) *Info {
	t.Helper()
	info, err := d.EnsureRunning(ctxOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// ask sends a line on a stream and gives the next one that comes.
func ask(t *testing.T, conn net.Conn, r *bufio.Reader, line string) string {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("after %q: %v", got, err)
	}
	return strings.TrimSuffix(got, "\n")
}

func itoa(n int) string { return strconv.Itoa(n) }

func reader(conn net.Conn) *bufio.Reader { return bufio.NewReader(conn) }
