package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// client is one connection to a server, at the level of lines.
type client struct {
	t    testing.TB
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error // what Serve returned
	kept []string   // lines read while waiting for another
}

// connect opens a connection; modern requests need nothing more, legacy ones
// the handshake of open.
func connect(t testing.TB, s *Server) *client { return connectAs(t, s, Client{}) }

// connectAs is connect for one of several clients.
func connectAs(t testing.TB, s *Server, who Client) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), done: make(chan error, 1)}
	go func() {
		c.done <- s.ServeClient(context.Background(), inR, outW, who)
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		// What is still written must find a reader, or Serve waits for it.
		_, _ = io.Copy(io.Discard, c.out)
		if err := <-c.done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func (c *client) open() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.reply(`"open"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// post sends a call of the modern era and does not wait.
func (c *client) post(id, tool, args string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, args, envelope))
}

// line reads the next line.
func (c *client) line() string {
	c.t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("connection over: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

// reply reads until the reply to a request comes; other lines are kept.
func (c *client) reply(id string) string {
	c.t.Helper()
	for i, l := range c.kept {
		if strings.HasPrefix(l, `{"jsonrpc":"2.0","id":`+id+`,`) {
			c.kept = append(c.kept[:i], c.kept[i+1:]...)
			return l
		}
	}
	for {
		l := c.line()
		if strings.HasPrefix(l, `{"jsonrpc":"2.0","id":`+id+`,`) {
			return l
		}
		c.kept = append(c.kept, l)
	}
}

// content decodes the structuredContent and the text of a reply.
func (c *client) content(line string) (structured map[string]any, text string) {
	c.t.Helper()
	var m struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent map[string]any
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
		c.t.Fatalf("%v in %s", err, line)
	}
	return m.Result.StructuredContent, m.Result.Content[0].Text
}
