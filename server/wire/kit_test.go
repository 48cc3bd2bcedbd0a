package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const objectSchema = `{"type":"object"}`

// toys are the tools of the tests: echo answers its arguments, wait answers
// when its context or the clock ends, quick is echo on the reading goroutine.
func toys() []Tool {
	no := false
	echo := func(_ context.Context, c *Call) Result {
		args := c.Arguments
		if args == nil {
			args = json.RawMessage("{}")
		}
		return Result{Structured: args, Text: string(args)}
	}
	tool := func(name string, h func(context.Context, *Call) Result) Tool {
		return Tool{
			Name: name, Title: strings.ToUpper(name), Description: "The <" + name + "> tool & more.",
			InputSchema: json.RawMessage(objectSchema), OutputSchema: json.RawMessage(objectSchema),
			Annotations: mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no},
			Handle:      h,
		}
	}
	quick := tool("quick", echo)
	quick.Inline = true
	return []Tool{
		tool("echo", echo), quick,
		tool("wait", func(ctx context.Context, c *Call) Result {
			var a struct{ MS int }
			_ = json.Unmarshal(c.Arguments, &a)
			select {
			case <-ctx.Done():
				return Result{Text: "cancelled"}
			case <-time.After(time.Duration(a.MS) * time.Millisecond):
				return Result{Text: "waited"}
			}
		}),
		tool("fail", func(context.Context, *Call) Result { return Result{Text: "no such \u2028 job <1>", IsError: true} }),
		tool("refuse", func(context.Context, *Call) Result {
			return Result{Err: &Error{Code: -31010, Message: "who knows", Data: map[string]any{"a": 1}}}
		}),
		tool("panic", func(context.Context, *Call) Result { panic("boom") }),
		tool("tasks", func(_ context.Context, c *Call) Result { return Result{Text: fmt.Sprint(c.Tasks, c.Era)} }),
		tool("raw", func(context.Context, *Call) Result {
			return Result{Raw: json.RawMessage(`{"content":[],"structuredContent":{"a":1}}`)}
		}),
		tool("count", func(_ context.Context, c *Call) Result {
			if c.Progress == nil {
				return Result{Text: "no token"}
			}
			for i := range 3 {
				c.Progress(float64(i), "line <"+fmt.Sprint(i)+">")
			}
			c.Progress(1, "not growing")
			c.Progress(2.5, "")
			go func() { time.Sleep(time.Second); c.Progress(9, "late") }()
			return Result{Text: "counted"}
		}),
	}
}

func toyFront(t testing.TB, edit func(*Options)) *Front {
	t.Helper()
	o := Options{
		Name: "toy", Version: "1.2.3", Instructions: "Ask <nicely>.", Tools: toys(),
		Extensions: map[string]any{TasksExtension: map[string]any{}},
		Log:        t.Logf,
	}
	if edit != nil {
		edit(&o)
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pipe is a client at the level of bytes.
type pipe struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *io.PipeReader
	done chan error // what Serve returned
	eof  chan struct{}
	once sync.Once
	err  error // of finish

	mu   sync.Mutex
	raw  []string
	news chan struct{}
	n    int
}

// connect serves one connection and reads what it says.
func connect(t *testing.T, f *Front) *pipe {
	return connectWith(t, t.Context(), f, true)
}

func connectWith(t *testing.T, ctx context.Context, f *Front, reading bool) *pipe {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipe{t: t, in: inW, out: outR, done: make(chan error, 1), eof: make(chan struct{}), news: make(chan struct{}, 1)}
	go func() {
		p.done <- f.Serve(ctx, inR, outW)
		inR.Close()
		outW.Close()
	}()
	if reading {
		go p.read()
	}
	return p
}

func (p *pipe) read() {
	r := bufio.NewReader(p.out)
	for {
		line, err := r.ReadString('\n')
		p.mu.Lock()
		if line != "" {
			p.raw = append(p.raw, line)
		}
		p.mu.Unlock()
		signal(p.news)
		if err != nil {
			close(p.eof)
			return
		}
	}
}

func (p *pipe) write(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, s); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// lines returns what has been said once nothing moves any more.
func (p *pipe) lines() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.raw...)
}

// find returns the first message for which ok holds.
func (p *pipe) find(what string, ok func(m msg) bool) msg {
	p.t.Helper()
	for _, l := range p.lines() {
		if m, is := parse(l); is && ok(m) {
			return m
		}
	}
	p.t.Fatalf("no %s in %q", what, p.lines())
	return msg{}
}

type msg struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  map[string]json.RawMessage
	Result  map[string]json.RawMessage
	Error   *struct {
		Code    int64
		Message string
		Data    map[string]json.RawMessage
	}
}

func parse(line string) (msg, bool) {
	var m msg
	return m, json.Unmarshal([]byte(line), &m) == nil
}

// reply returns the reply to exactly this id.
func (p *pipe) reply(id string) msg {
	p.t.Helper()
	return p.find("reply to "+id, func(m msg) bool { return m.Method == "" && string(m.ID) == id })
}

// results returns the ids that were answered with a result.
func (p *pipe) results() map[string]bool {
	got := map[string]bool{}
	for _, l := range p.lines() {
		if m, ok := parse(l); ok && m.Result != nil {
			got[string(m.ID)] = true
		}
	}
	return got
}

func (p *pipe) replies(id string) (n int) {
	for _, l := range p.lines() {
		if m, ok := parse(l); ok && m.Method == "" && string(m.ID) == id {
			n++
		}
	}
	return n
}

func (p *pipe) result(id string) map[string]json.RawMessage {
	p.t.Helper()
	m := p.reply(id)
	if m.Error != nil || m.Result == nil {
		p.t.Fatalf("reply to %s: error %+v", id, m.Error)
	}
	return m.Result
}

func (p *pipe) wantError(id string, code int64) msg {
	p.t.Helper()
	m := p.reply(id)
	if m.Error == nil || m.Error.Code != code {
		p.t.Fatalf("reply to %s: %+v %s, want error %d", id, m.Error, m.Result, code)
	}
	return m
}

// nullErrors counts the error replies with a null id and this code.
func (p *pipe) nullErrors(code int64) (n int) {
	for _, l := range p.lines() {
		var m msg
		if json.Unmarshal([]byte(l), &m) == nil && strings.Contains(l, `"id":null`) && m.Error != nil && m.Error.Code == code {
			n++
		}
	}
	return n
}

// goesOn proves that the connection still serves.
func (p *pipe) goesOn(era Era) {
	p.t.Helper()
	p.n++
	id := fmt.Sprintf(`"on%d"`, p.n)
	p.write(req(era, id, "tools/list", ""))
	if len(p.result(id)["tools"]) < 10 {
		p.t.Fatal("no tools")
	}
}

// finish ends the input and returns what Serve returned.
func (p *pipe) finish() error {
	p.once.Do(func() {
		p.in.Close()
		p.err = <-p.done
		<-p.eof
	})
	return p.err
}

const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// req is one request line; params are the members inside the braces.
func req(era Era, id, method, params string) string {
	if era == Modern {
		if params != "" {
			params += ","
		}
		params += envelope
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`+"\n", id, method, params)
}

func call(era Era, id, tool, args string) string {
	return req(era, id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{%s}`, tool, args))
}

func cancelOf(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"
}

func hello(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"t","version":"1"}}}` + "\n"
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}` + "\n"

// open opens the era and returns once it is.
func open(t *testing.T, f *Front, era Era, version string) *pipe {
	t.Helper()
	p := connect(t, f)
	if era == Modern {
		p.write(req(Modern, `"disc"`, "server/discover", ""))
		p.result(`"disc"`)
	} else {
		p.write(hello(version, "{}") + initialized)
		p.result(`"init"`)
	}
	return p
}

// inBoth runs a test once an era, in a bubble with a clock of its own, on an
// open connection that must end cleanly and have said nothing but JSON-RPC.
func inBoth(t *testing.T, test func(t *testing.T, p *pipe, era Era)) {
	t.Helper()
	inBothWith(t, nil, test)
}

func inBothWith(t *testing.T, edit func(*Options), test func(t *testing.T, p *pipe, era Era)) {
	t.Helper()
	for _, era := range []Era{Legacy, Modern} {
		t.Run(era.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, toyFront(t, edit), era, "2025-11-25")
				test(t, p, era)
				if err := p.finish(); err != nil {
					t.Errorf("Serve: %v", err)
				}
				p.checkPurity()
			})
		})
	}
}

func (p *pipe) checkPurity() {
	p.t.Helper()
	for _, l := range p.lines() {
		if !strings.HasSuffix(l, "\n") || !json.Valid([]byte(l)) || !bytes.Contains([]byte(l), []byte(`"jsonrpc":"2.0"`)) {
			p.t.Errorf("not a message: %q", l)
		}
	}
}
