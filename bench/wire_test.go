package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
)

// The calls of these measurements carry what a status call carries: a job id
// in, a small record and its text twin out.
const (
	callArgs  = `{"job_id":"3f0c0a52-6b54-4b0e-9d6a-1f2e3d4c5b6a"}`
	callReply = `{"job_id":"3f0c0a52-6b54-4b0e-9d6a-1f2e3d4c5b6a","state":"running","started_at":"2026-01-01T00:00:00.000Z","command_summary":"make","label":"build","counts":{"stdout_lines":120,"stdout_bytes":9600,"stderr_lines":0,"stderr_bytes":0}}`
)

func callLine(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"status","arguments":%s}}`+"\n", id, callArgs)
}

const wireOpening = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// wireHandLoop is the server that a careful person writes for one tool and one
// revision: a scanner, encoding/json both ways, one goroutine.
func wireHandLoop(in io.Reader, out io.Writer) error {
	type call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string `json:"name"`
			Arguments struct {
				JobID string `json:"job_id"`
			} `json:"arguments"`
		} `json:"params"`
	}
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type result struct {
		Content    []text          `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	type reply struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), 16<<20)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for sc.Scan() {
		var c call
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return err
		}
		r := reply{JSONRPC: "2.0", ID: c.ID}
		switch {
		case c.Method == "initialize":
			r.Result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}}
		case c.Method == "tools/call" && c.Params.Name == "status" && c.Params.Arguments.JobID != "":
			r.Result = result{Content: []text{{"text", callReply}}, Structured: json.RawMessage(callReply)}
		default:
			continue
		}
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return sc.Err()
}

// wireFront serves the same tool through server/wire.
func wireFront(tb testing.TB, inline bool) func(io.Reader, io.Writer) error {
	f, err := wire.New(wire.Options{Name: "bench", Version: "1", Tools: []wire.Tool{{
		Name: "status", InputSchema: json.RawMessage(`{"type":"object"}`), Inline: inline,
		Handle: func(_ context.Context, c *wire.Call) wire.Result {
			var a struct {
				JobID string `json:"job_id"`
			}
			if json.Unmarshal(c.Arguments, &a) != nil || a.JobID == "" {
				return wire.Result{IsError: true, Text: "no job"}
			}
			return wire.Result{Structured: json.RawMessage(callReply), Text: callReply}
		},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	return func(in io.Reader, out io.Writer) error { return f.Serve(context.Background(), in, out) }
}

// wireLink is a client and a server with pipes of the system between them.
type wireLink struct {
	in      *os.File
	replies *bufio.Reader
	line    func(id int) string // makes a call
	sent    int
}

func newWireLink(tb testing.TB, serve func(io.Reader, io.Writer) error) *wireLink {
	inR, inW, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(inR, outW) }()
	tb.Cleanup(func() {
		inW.Close()
		if err := <-done; err != nil {
			tb.Error(err)
		}
		for _, f := range []*os.File{inR, outR, outW} {
			f.Close()
		}
	})
	l := &wireLink{in: inW, replies: bufio.NewReaderSize(outR, 64<<10), line: callLine}
	if _, err := io.WriteString(inW, wireOpening); err != nil {
		tb.Fatal(err)
	}
	l.reply(tb)
	return l
}

func (l *wireLink) reply(tb testing.TB) {
	line, err := l.replies.ReadSlice('\n')
	if err != nil || !bytes.Contains(line, []byte(`"result"`)) {
		tb.Fatalf("reply %q: %v", line, err)
	}
}

// calls makes n calls with so many in flight.
func (l *wireLink) calls(tb testing.TB, n, depth int) {
	send := func() {
		l.sent++
		if _, err := io.WriteString(l.in, l.line(l.sent)); err != nil {
			tb.Fatal(err)
		}
	}
	depth = min(depth, n)
	for range depth {
		send()
	}
	for i := range n {
		l.reply(tb)
		if i < n-depth {
			send()
		}
	}
}

func BenchmarkWire(b *testing.B) {
	for _, s := range []struct {
		name  string
		serve func(io.Reader, io.Writer) error
	}{
		{"hand", wireHandLoop}, {"inline", wireFront(b, true)}, {"goroutine", wireFront(b, false)},
	} {
		for _, depth := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/depth=%d", s.name, depth), func(b *testing.B) {
				l := newWireLink(b, s.serve)
				b.ReportAllocs()
				b.ResetTimer()
				l.calls(b, b.N, depth)
			})
		}
	}
}

// The front may cost at most one and a half times the hand-written loop with
// 64 calls in flight, and three times with one. Rounds alternate and each
// server's best round counts: a neighbour on the machine slows a round down,
// and nothing speeds one up.
func TestWireGate(t *testing.T) {
	gated(t)
	for _, c := range []struct {
		depth, calls int
		most         float64
	}{{64, 4000, 1.5}, {1, 2000, 3}} {
		links := [3]*wireLink{newWireLink(t, wireHandLoop), newWireLink(t, wireFront(t, true)), newWireLink(t, wireFront(t, false))}
		var best [3]time.Duration
		over := func() bool { return max(best[1], best[2]).Seconds() > c.most*best[0].Seconds() }
		for round := 0; round < 40 && (round < 5 || over()); round++ {
			for i, l := range links {
				from := time.Now()
				l.calls(t, c.calls, c.depth)
				if took := time.Since(from); best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
		hand := best[0].Seconds()
		t.Logf("%d in flight: %.2f of the hand-written loop inline, %.2f with a goroutine a call",
			c.depth, best[1].Seconds()/hand, best[2].Seconds()/hand)
		if over() {
			t.Errorf("%d in flight: %v and %v against %v, at most %.1f times that", c.depth, best[1], best[2], best[0], c.most)
		}
	}
}

// A call costs the server at most 3 KiB of allocation, whatever the reply is
// written to.
func TestWireAllocatesLittle(t *testing.T) {
	for _, inline := range []bool{true, false} {
		if each := allocated(t, wireFront(t, inline), 20_000, callLine); each > 3<<10 {
			t.Errorf("inline %v: %d bytes a call", inline, each)
		}
	}
}

// allocated is how many bytes a server allocates for each of n calls.
func allocated(t *testing.T, serve func(io.Reader, io.Writer) error, n int, line func(i int) string) uint64 {
	t.Helper()
	var in bytes.Buffer
	in.WriteString(wireOpening)
	for i := range n {
		in.WriteString(line(i))
	}
	out := newLineCounter()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	// A few hundred at a time, so that none is refused for the number in flight.
	if err := serve(&pacedCalls{in: &in, out: out}, out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if out.lines != n+1 {
		t.Fatalf("%d replies to %d calls", out.lines-1, n)
	}
	each := (after.TotalAlloc - before.TotalAlloc) / uint64(n)
	t.Logf("%d bytes, %d objects a call", each, (after.Mallocs-before.Mallocs)/uint64(n))
	return each
}

// lineCounter counts the lines that are written to it.
type lineCounter struct {
	mu    sync.Mutex
	lines int
	grew  *sync.Cond
}

func newLineCounter() *lineCounter {
	c := new(lineCounter)
	c.grew = sync.NewCond(&c.mu)
	return c
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines += bytes.Count(p, []byte("\n"))
	c.grew.Broadcast()
	return len(p), nil
}

// pacedCalls hands out one page of requests once the replies to the earlier ones
// are there.
type pacedCalls struct {
	in    *bytes.Buffer
	out   *lineCounter
	asked int
}

func (p *pacedCalls) Read(b []byte) (int, error) {
	p.out.mu.Lock()
	for p.asked > p.out.lines {
		p.out.grew.Wait()
	}
	p.out.mu.Unlock()
	n, err := p.in.Read(b[:min(len(b), 32<<10)])
	page := b[:n]
	p.asked += bytes.Count(page, []byte("\n")) - bytes.Count(page, []byte("initialized\"}\n"))
	return n, err
}
