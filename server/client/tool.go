package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// Hello is what a server says of itself.
type Hello struct {
	ProtocolVersion string
	ServerInfo      struct{ Name, Version string }
	Instructions    string
	Capabilities    json.RawMessage
}

// protocolVersion is the newest revision that opens with a handshake.
const protocolVersion = "2025-11-25"

// Open does the handshake.
func (c *Client) Open(ctx context.Context) (Hello, error) {
	var h Hello
	_, err := c.Call(ctx, "initialize", map[string]any{
		"protocolVersion": protocolVersion,
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "belfry-client", "version": "1"},
	}, &h)
	if err != nil {
		return h, err
	}
	return h, c.Notify("notifications/initialized", nil)
}

// Answer is the result of a tool.
type Answer struct {
	Structured json.RawMessage // nil on most errors
	Text       string          // of the first block of content
	IsError    bool
	Reply      Reply
}

// ToolError is a tool's own refusal: the call was understood and the answer is
// no.
type ToolError struct {
	Tool string
	Text string
}

func (e *ToolError) Error() string { return fmt.Sprintf("%s: %s", e.Tool, e.Text) }

// SendTool calls a tool without waiting.
func (c *Client) SendTool(name string, args any) (*Pending, error) {
	return c.Send("tools/call", map[string]any{"name": name, "arguments": args})
}

// WaitTool waits for the answer of a tool. An answer that is an error is given
// as it is; the error is that of the call.
func (p *Pending) WaitTool(ctx context.Context) (Answer, error) {
	r, err := p.Wait(ctx)
	if err != nil {
		return Answer{}, err
	}
	if r.Err != nil {
		return Answer{Reply: r}, r.Err
	}
	var result struct {
		StructuredContent json.RawMessage
		Content           []struct{ Type, Text string }
		IsError           bool
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		return Answer{Reply: r}, fmt.Errorf("decode the result: %w", err)
	}
	a := Answer{Structured: result.StructuredContent, IsError: result.IsError, Reply: r}
	if len(result.Content) > 0 {
		a.Text = result.Content[0].Text
	}
	return a, nil
}

// Tool calls a tool, waits for its answer and decodes the structured content
// into answer, unless that is nil. A refusal is a *ToolError.
func (c *Client) Tool(ctx context.Context, name string, args, answer any) (Answer, error) {
	p, err := c.SendTool(name, args)
	if err != nil {
		return Answer{}, err
	}
	a, err := p.WaitTool(ctx)
	switch {
	case err != nil:
		return a, fmt.Errorf("%s: %w", name, err)
	case a.IsError:
		return a, &ToolError{name, a.Text}
	case answer == nil:
		return a, nil
	}
	if err := json.Unmarshal(a.Structured, answer); err != nil {
		return a, fmt.Errorf("%s: decode the answer: %w", name, err)
	}
	return a, nil
}
