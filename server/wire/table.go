package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listTTL is how long a client may keep what discover and the lists say, which
// does not change while the process lives.
const listTTL = time.Hour

func implementation(o Options) *mcp.Implementation {
	return &mcp.Implementation{Name: o.Name, Title: o.Title, Version: o.Version, Icons: o.Icons}
}

// newServer registers the table with go-sdk. Every capability is stated: what
// go-sdk infers by itself says listChanged, and it would then notify on its own.
func newServer(f *Front, o Options) (s *mcp.Server, err error) {
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Extensions: o.Extensions}
	if o.Resources {
		capabilities.Resources = &mcp.ResourceCapabilities{Subscribe: true}
	}
	if o.Prompts {
		capabilities.Prompts = &mcp.PromptCapabilities{}
	}
	if o.Completions {
		capabilities.Completions = &mcp.CompletionCapabilities{}
	}
	s = mcp.NewServer(implementation(o), &mcp.ServerOptions{
		Instructions: o.Instructions,
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = int(listTTL.Milliseconds()), "public"
		},
	})
	for _, t := range f.tools {
		if err := addTool(s, f, t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addTool registers one tool. go-sdk panics on a schema that it refuses.
func addTool(s *mcp.Server, f *Front, t *Tool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("tool %q: %v", t.Name, v)
		}
	}()
	entry := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.InputSchema, Annotations: &t.Annotations, Meta: t.Meta,
	}
	if t.OutputSchema != nil {
		entry.OutputSchema = t.OutputSchema
	}
	s.AddTool(entry, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return f.throughSDK(ctx, t, r)
	})
	return nil
}

// throughSDK serves a call that reached the table by way of go-sdk.
func (f *Front) throughSDK(ctx context.Context, t *Tool, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	era := Legacy
	if r.ProtocolVersion() >= modernVersion {
		era = Modern
	}
	call := &Call{Tool: t.Name, Era: era, Arguments: r.Params.Arguments}
	if c := r.ClientCapabilities(); c != nil {
		_, call.Tasks = c.Extensions[TasksExtension]
	}
	if isNull(call.Arguments) {
		call.Arguments = nil
	}
	if t.Begin != nil {
		f.beginTool(ctx, t, call)
	}
	res := f.handleTool(ctx, t, call)
	switch {
	case res.Err != nil:
		data, err := json.Marshal(res.Err.Data)
		if err != nil || res.Err.Data == nil {
			data = nil
		}
		return nil, &jsonrpc.Error{Code: res.Err.Code, Message: res.Err.Message, Data: data}
	case res.Raw != nil:
		out := new(mcp.CallToolResult)
		if err := json.Unmarshal(res.Raw, out); err != nil {
			return nil, fmt.Errorf("result of tool %s: %w", t.Name, err)
		}
		return out, nil
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}, IsError: res.IsError}
	if res.Structured != nil {
		out.StructuredContent = res.Structured
	}
	return out, nil
}
