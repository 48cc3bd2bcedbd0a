package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The direct path and go-sdk answer each call alike.
func TestDirectAndSDKPathsAgree(t *testing.T) {
	for era, version := range map[Era]string{Legacy: "2025-11-25", Modern: "2026-07-28"} {
		f := toyFront(t, nil)
		clientT, serverT := mcp.NewInMemoryTransports()
		ss, err := f.sdk.Connect(t.Context(), serverT, nil)
		if err != nil {
			t.Fatal(err)
		}
		tap := &tap{Transport: clientT}
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		cs, err := client.Connect(t.Context(), tap, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ tool, args string }{
			{"echo", `{"a":[1,2.50,null],"b":{"c":"é"}}`}, {"quick", `{}`}, {"fail", `{}`}, {"refuse", `{}`}, {"raw", `{}`},
			{"tasks", `{}`}, {"panic", `{}`}, {"wait", `{"MS":1}`}, {"nope", `{}`},
		} {
			_, sdkErr := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.args)})
			through := tap.last()
			var direct msg
			synctest.Test(t, func(t *testing.T) {
				p := open(t, toyFront(t, nil), era, version)
				line := req(era, "1", "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, c.tool, c.args))
				p.write(strings.Replace(line, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "{}", 1))
				time.Sleep(time.Second)
				direct = p.reply("1")
				p.finish()
			})
			if through.Error != nil {
				e := sdkError(through.Error)
				if direct.Error == nil || direct.Error.Code != e.Code || direct.Error.Message != e.Message {
					t.Errorf("%s %s: direct %+v, go-sdk %v", era, c.tool, direct.Error, e)
				}
				continue
			}
			if sdkErr != nil {
				t.Errorf("%s %s: %v", era, c.tool, sdkErr)
				continue
			}
			var a, b any
			directBytes, err := json.Marshal(direct.Result)
			if err == nil {
				err = json.Unmarshal(directBytes, &a)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(through.Result, &b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s %s:\ndirect %s\ngo-sdk %s", era, c.tool, directBytes, through.Result)
			}
		}
		cs.Close()
		ss.Wait()
	}
}

// tap keeps the last reply that a client transport has read.
type tap struct {
	mcp.Transport
	mcp.Connection
	seen chan *jsonrpc.Response
}

func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	t.Connection, t.seen = c, make(chan *jsonrpc.Response, 100)
	return t, err
}

func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := t.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok {
		t.seen <- r
	}
	return m, err
}

func (t *tap) last() (r *jsonrpc.Response) {
	for {
		select {
		case r = <-t.seen:
		default:
			return r
		}
	}
}

func TestNewRefuses(t *testing.T) {
	h := func(context.Context, *Call) Result { return Result{} }
	m := func(context.Context, *Request) (json.RawMessage, *Error) { return nil, nil }
	good := Tool{Name: "a", InputSchema: []byte(objectSchema), Handle: h}
	for name, o := range map[string]Options{
		"no name":        {Version: "1"},
		"no schema":      {Name: "x", Version: "1", Tools: []Tool{{Name: "a", Handle: h}}},
		"no handler":     {Name: "x", Version: "1", Tools: []Tool{{Name: "a", InputSchema: []byte(objectSchema)}}},
		"twice":          {Name: "x", Version: "1", Tools: []Tool{good, good}},
		"bad schema":     {Name: "x", Version: "1", Tools: []Tool{{Name: "a", InputSchema: []byte(`{"type":"array"}`), Handle: h}}},
		"broken schema":  {Name: "x", Version: "1", Tools: []Tool{{Name: "a", InputSchema: []byte(`{`), Handle: h}}},
		"own method":     {Name: "x", Version: "1", Methods: map[string]Method{"tools/call": {Eras: Both, Handle: m}}},
		"no era":         {Name: "x", Version: "1", Methods: map[string]Method{"a/b": {Handle: m}}},
		"no handle":      {Name: "x", Version: "1", Methods: map[string]Method{"a/b": {Eras: Both}}},
		"inline listens": {Name: "x", Version: "1", Methods: map[string]Method{"a/b": {Eras: Both, Handle: m, Listen: true, Inline: true}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
