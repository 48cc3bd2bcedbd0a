package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// rig is a bridge with a client at its ends.
type rig struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
	pipe  io.Closer // the bridge's own end of the output
}

func newRig(t *testing.T, ctx context.Context, c Config, o ProxyOptions) *rig {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o.Stdin, o.Stdout = inR, outW
	g := &rig{t: t, in: inW, lines: make(chan string, 4096), ended: make(chan error, 1), pipe: outW}
	go func() {
		defer close(g.lines)
		sc := bufio.NewScanner(outR)
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			g.lines <- sc.Text()
		}
	}()
	go func() {
		g.ended <- Proxy(ctx, c, o)
		inR.Close()
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	return g
}

func (g *rig) send(format string, args ...any) {
	g.t.Helper()
	if _, err := fmt.Fprintf(g.in, format+"\n", args...); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) next() string {
	g.t.Helper()
	select {
	case l, ok := <-g.lines:
		if !ok {
			g.t.Fatal("the output has ended")
		}
		return l
	case <-time.After(patience):
		g.t.Fatal("no line")
	}
	return ""
}

// expect reads a line and wants each of the words in it.
func (g *rig) expect(words ...string) string {
	g.t.Helper()
	l := g.next()
	for _, w := range words {
		if !strings.Contains(l, w) {
			g.t.Fatalf("%q lacks %q", l, w)
		}
	}
	return l
}

// leave ends the input and wants the bridge to end with err.
func (g *rig) leave(want error) {
	g.t.Helper()
	g.in.Close()
	select {
	case err := <-g.ended:
		if !errors.Is(err, want) {
			g.t.Errorf("the bridge ended with %v, want %v", err, want)
		}
	case <-time.After(patience):
		g.t.Fatal("the bridge does not end")
	}
}

func call(id int, method string, params any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%v}`, id, method, params)
}

func TestProxy(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true})
		g.send("%s", call(1, "wait", 300))
		g.send("%s", call(2, "notify", 0))
		g.expect(`"method":"told"`) // unasked, and while a call is in flight
		g.expect(`"id":2`)
		if s, err := New(p.config()).Status(); err != nil || s.Leases != 1 || s.Clients[0].Role != "mcp" {
			t.Errorf("%+v, %v", s, err)
		}
		g.expect(`"id":1`)
		// A last line without a newline is one.
		io.WriteString(g.in, call(3, "wait", 50))
		g.in.Close()
		g.expect(`"id":3`)
		g.leave(nil)
	})
}

func TestProxyWantsARunningDaemon(t *testing.T) {
	p := newPlay(t, Socket)
	if err := Proxy(ctxOf(t), p.config(), ProxyOptions{Stdin: strings.NewReader("")}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("%v", err)
	}
}

func TestProxyContextEnds(t *testing.T) {
	p := newPlay(t, Socket)
	ctx, cancel := context.WithCancel(t.Context())
	g := newRig(t, ctx, p.config(), ProxyOptions{Start: true})
	g.send("%s", call(1, "x", 0))
	g.expect(`"id":1`)
	cancel() // while the input blocks
	if err := <-g.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A daemon that dies with calls in flight: each is answered once, what may be
// done twice by the next daemon.
func TestProxyDaemonKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true, Resend: func(method, tool string) bool {
			return tool == "list" || method == "initialize"
		}})
		g.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
		g.expect(`"id":0`)
		g.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		g.send("%s", call(1, "wait", 60000))
		g.send("%s", call(2, "x", 0))
		g.expect(`"id":2`) // so the first has been taken
		s, err := d.Status()
		if err != nil {
			t.Fatal(err)
		}
		kill(t, s.PID)
		g.expect(`"id":1`, "-31010", s.Generation, `"wait"`)
		// The next call finds another daemon; the opening is repeated unseen.
		g.send("%s", call(3, "x", 0))
		g.expect(`"id":3`)
		next, err := d.Status()
		if err != nil || next.Generation == s.Generation {
			t.Fatalf("%+v, %v", next, err)
		}
		// Without a call nobody is revived.
		if err := d.Stop(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if again, err := d.Status(); err != nil || again.State != StateStopped {
			t.Errorf("%+v, %v", again, err)
		}
		// What may be done twice is.
		g.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list"}}`)
		g.expect(`"id":4`)
		g.leave(nil)
	})
}

// What a draining daemon has not taken is sent to the next one, once.
func TestProxyOverADrain(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true})
	g.send("%s", call(1, "wait", 400))
	g.send("%s", call(2, "x", 0))
	first := pidIn(t, g.expect(`"id":2`))
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(ctxOf(t)) }()
	until(t, "it drains", func() bool { s, err := d.Status(); return err == nil && s.State != StateRunning })
	// What it takes before its end of the stream has heard of that it answers, and
	// the answers of two daemons come in no order.
	id := 3
	g.send("%s", call(id, "x", 0))
	for old, next := false, false; !old || !next; {
		line := g.next()
		pid := pidIn(t, line)
		switch {
		case strings.Contains(line, `"id":1,`):
			if old = true; pid != first {
				t.Error("the call in flight was answered by another daemon")
			}
		case pid == first:
			id++
			g.send("%s", call(id, "x", 0))
		default:
			next = true
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	g.leave(nil)
}

func pidIn(t *testing.T, line string) int {
	t.Helper()
	var pid int
	_, after, _ := strings.Cut(line, `"pid":`)
	if _, err := fmt.Sscanf(after, "%d", &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return pid
}

// Under a hold calls are refused with the reason, and the bridge lives.
func TestProxyHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true})
		g.send("%s", call(1, "x", 0))
		g.expect(`"id":1`)
		if err := d.HoldFor(ctxOf(t), "tape change"); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			g.send("%s", call(10+i, "x", 0))
			g.expect(fmt.Sprintf(`"id":%d`, 10+i), "-32603", "tape change")
		}
		g.send(`[%s,%s]`, call(20, "x", 0), call(21, "x", 0))
		g.expect(`[{`, `"id":20`, `"id":21`)
		d.Release()
		g.send("%s", call(12, "x", 0))
		g.expect(`"id":12`, "result")
		g.leave(nil)
	})
}

// A subscription is made again with the next daemon, and its second
// acknowledgement is the bridge's own affair.
func TestProxyListens(t *testing.T) {
	b := newBridge(t.Context(), nil, ProxyOptions{}.withDefaults(), false, nil, func(error) {})
	f := &flight{line: []byte(`{"id":7,"method":"subscriptions/listen"}`), owed: map[string]bool{"7": true}, listen: true, seq: 3}
	f.all, _ = sniff(f.line)
	b.flights["7"] = f
	up := deadUplink(t)
	b.up = up
	b.lost(up, 3)
	if len(b.backlog) != 1 || b.backlog[0] != f || !f.again {
		t.Fatalf("%+v", b.backlog)
	}
	b.flights["7"] = f
	ack := []byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
	if b.pass(ack) {
		t.Error("the second acknowledgement reached the client")
	}
	if !b.pass(ack) {
		t.Error("a third was swallowed too")
	}
}

func deadUplink(t *testing.T) *uplink {
	t.Helper()
	p := newPlay(t, Socket)
	l, err := New(p.config()).attach(ctxOf(t), DialOptions{}, true)
	if err != nil {
		t.Fatal(err)
	}
	return &uplink{link: l, over: make(chan struct{})}
}

func TestProxyLongLines(t *testing.T) {
	p := newPlay(t, Socket)
	g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true, MaxLine: 1 << 20})
	pad := strings.Repeat("a", 900<<10)
	g.send("%s", call(1, "x", `"`+pad+`"`))
	g.expect(`"id":1`, pad)
	g.send("%s", call(2, "x", `"`+pad+pad+`"`))
	g.expect(`"id":null`, "-32600")
	g.send("%s", call(3, "x", 0))
	g.expect(`"id":3`)
	g.leave(nil)
}

// A daemon without streams gets one POST for each message.
func TestProxyPosts(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.NoStream = true
		d := New(p.config())
		g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true, LogPayloads: true})
		g.send("%s", call(1, "x", 0))
		first := pidIn(t, g.expect(`"id":1`))
		g.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		// An empty reply is an error, not silence.
		g.send("%s", call(2, "silent", 0))
		g.expect(`"id":2`, "-32603")
		kill(t, first)
		g.send("%s", call(3, "x", 0))
		answer := g.expect(`"id":3`)
		if strings.Contains(answer, "outcome unknown") {
			// It went out on a connection whose end had not been noticed yet.
			g.send("%s", call(4, "x", 0))
			answer = g.expect(`"id":4`)
		}
		if pid := pidIn(t, answer); pid == first {
			t.Error("the dead answer")
		}
		if s, err := d.Status(); err != nil || s.Leases != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		g.leave(nil)
		if b, err := os.ReadFile(filepath.Join(p.Dir, "proxy.log")); err != nil || !strings.Contains(string(b), "silent") {
			t.Errorf("proxy.log: %q, %v", b, err)
		}
	})
}

// Two bridges use the same ids at once: no reply is crossed.
func TestProxiesShareIDs(t *testing.T) {
	p := newPlay(t, Socket)
	var wrong atomic.Int64
	done := make(chan struct{}, 3)
	for n := range 3 {
		g := newRig(t, t.Context(), p.config(), ProxyOptions{Start: true})
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 100 {
				fmt.Fprintln(g.in, call(i, "x", fmt.Sprintf(`"client %d"`, n)))
			}
			for range 100 {
				if l := <-g.lines; !strings.Contains(l, fmt.Sprintf("client %d", n)) {
					wrong.Add(1)
				}
			}
			g.in.Close()
			<-g.ended
		}()
	}
	for range 3 {
		<-done
	}
	if wrong.Load() > 0 {
		t.Errorf("%d replies went to another client", wrong.Load())
	}
}
