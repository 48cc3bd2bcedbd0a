package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tasksEnvelope is the envelope of a client that declares the Tasks extension.
var tasksEnvelope = strings.Replace(envelope, `clientCapabilities":{}`,
	`clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)

// openTasks opens the legacy era with the Tasks extension declared.
func (c *client) openTasks() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"t","version":"1"}}}`)
	c.reply(`"open"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// write sends a request; params are members, and envelope one of them or "".
func (c *client) write(id, method, params, envelope string) {
	c.t.Helper()
	if params != "" && envelope != "" {
		params += ","
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, params, envelope))
}

// ask sends a request and gives its result; an error fails the test.
func (c *client) ask(id, method, params, envelope string) map[string]any {
	c.t.Helper()
	c.write(id, method, params, envelope)
	m := decoded(c.t, c.reply(id))
	r, ok := m["result"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: %v", method, m)
	}
	return r
}

// refused sends a request and gives the error it must get.
func (c *client) refused(id, method, params, envelope string) map[string]any {
	c.t.Helper()
	c.write(id, method, params, envelope)
	m := decoded(c.t, c.reply(id))
	e, ok := m["error"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: no error in %v", method, m)
	}
	return e
}

// mint starts a job as a task and gives its id.
func (c *client) mint(id, envelope string, tool string) string {
	c.t.Helper()
	r := c.ask(id, "tools/call", fmt.Sprintf(`"name":"run","arguments":{"command":[%q]}`, tool), envelope)
	if r["resultType"] != "task" || r["status"] != "working" || r["ttlMs"] != nil {
		c.t.Fatalf("run answered %v", r)
	}
	return r["taskId"].(string)
}

// note gives the params of the next notification of a method; other lines are
// kept.
func (c *client) note(method string) map[string]any {
	c.t.Helper()
	prefix := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,`, method)
	for i, l := range c.kept {
		if strings.HasPrefix(l, prefix) {
			c.kept = append(c.kept[:i], c.kept[i+1:]...)
			return decoded(c.t, l)["params"].(map[string]any)
		}
	}
	for {
		l := c.line()
		if strings.HasPrefix(l, prefix) {
			return decoded(c.t, l)["params"].(map[string]any)
		}
		c.kept = append(c.kept, l)
	}
}

// end closes the client's side and gives all the lines that were left.
func (c *client) end() []string {
	c.t.Helper()
	c.in.Close()
	lines := c.kept
	for {
		l, err := c.out.ReadString('\n')
		if err != nil {
			return lines
		}
		lines = append(lines, strings.TrimSuffix(l, "\n"))
	}
}

func decoded(t testing.TB, line string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return m
}

// subscription is the id of the listen that a notification belongs to.
func subscription(params map[string]any) any {
	meta, _ := params["_meta"].(map[string]any)
	return meta["io.modelcontextprotocol/subscriptionId"]
}
