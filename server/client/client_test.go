package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// peer is the other end of a client: the test speaks for the server.
type peer struct {
	t   *testing.T
	c   *Client
	in  *bufio.Reader
	out *io.PipeWriter
}

func pair(t *testing.T) *peer {
	toServer, clientOut := io.Pipe()
	clientIn, fromServer := io.Pipe()
	c := New(clientIn, clientOut)
	t.Cleanup(func() {
		fromServer.Close()
		toServer.Close()
		<-c.Done()
	})
	return &peer{t, c, bufio.NewReader(toServer), fromServer}
}

func (p *peer) hear() string {
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Error(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) say(line string) {
	if _, err := io.WriteString(p.out, line+"\n"); err != nil {
		p.t.Error(err)
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestRepliesFindTheirRequests(t *testing.T) {
	p := pair(t)
	heard := make(chan string, 2)
	go func() {
		heard <- p.hear()
		heard <- p.hear()
		p.say(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{"n":7}}`)
	}()
	one, err := p.c.Send("first", nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.c.Send("second", map[string]any{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-heard, `{"jsonrpc":"2.0","id":1,"method":"first"}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if got, want := <-heard, `{"jsonrpc":"2.0","id":2,"method":"second","params":{"a":1}}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	r, err := one.Wait(within(t))
	if err != nil || string(r.Result) != `{"n":7}` || r.Err != nil {
		t.Errorf("first: %s %v %v", r.Result, r.Err, err)
	}
	r, err = two.Wait(within(t))
	if err != nil || r.Err == nil || r.Err.Code != -32601 {
		t.Errorf("second: %v %v", r.Err, err)
	}
}

func TestToolAnswers(t *testing.T) {
	p := pair(t)
	go func() {
		p.hear()
		p.say(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{"job_id":"x"}}}`)
		p.hear()
		p.say(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"no such job"}],"isError":true}}`)
	}()
	var got struct {
		JobID string `json:"job_id"`
	}
	if _, err := p.c.Tool(within(t), "run", map[string]any{}, &got); err != nil || got.JobID != "x" {
		t.Errorf("%+v %v", got, err)
	}
	_, err := p.c.Tool(within(t), "status", map[string]any{}, nil)
	if e, ok := errors.AsType[*ToolError](err); !ok || e.Text != "no such job" || e.Tool != "status" {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNobodysIsAStray(t *testing.T) {
	p := pair(t)
	notes := make(chan string, 1)
	p.c.OnNotification(func(method string, _ json.RawMessage) { notes <- method })
	heard := make(chan string, 2)
	go func() {
		heard <- p.hear()
		heard <- p.hear()
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`) // was cancelled
		p.say(`talk`)
		p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
		p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
		p.out.Close()
	}()
	request, err := p.c.Send("follow", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-heard
	if err := p.c.Cancel(request); err != nil {
		t.Fatal(err)
	}
	if got, want := <-heard, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if _, err := request.Wait(within(t)); !errors.Is(err, ErrCancelled) {
		t.Errorf("a cancelled request gave %v", err)
	}
	<-p.c.Done()
	if got := <-notes; got != "notifications/progress" {
		t.Errorf("notification %s", got)
	}
	if got := <-p.c.Refusals(); got.Code != -32700 {
		t.Errorf("refusal %v", got)
	}
	if got := p.c.Strays(); len(got) != 2 || !strings.Contains(got[0], `"id":1`) || got[1] != "talk\n" {
		t.Errorf("strays %q", got)
	}
}

func TestTheEndSettlesWhatWaits(t *testing.T) {
	p := pair(t)
	go func() {
		p.hear()
		p.out.Close()
	}()
	request, err := p.c.Send("follow", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := request.Wait(within(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("gave %v", err)
	}
	go p.hear()
	late, err := p.c.Send("ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Wait(within(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
