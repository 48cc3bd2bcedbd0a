package daemon

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// message is what a bridge looks at of a JSON-RPC message.
type message struct {
	id     string // as it stands, compacted; "" for none
	method string // "" of a reply
	name   string // params.name of tools/call
	cancel string // params.requestId of notifications/cancelled
}

// wireMessage is message as JSON.
type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// request says that m wants a reply.
func (m message) request() bool { return m.id != "" && m.method != "" }

// sniff reads the messages of a line: one, or those of a batch. A line that is
// no JSON-RPC gives none; the daemon will say what it thinks of it.
func sniff(line []byte) (all []message, batch bool) {
	if t := bytes.TrimLeft(line, " \t\r"); len(t) > 0 && t[0] == '[' {
		var many []wireMessage
		if json.Unmarshal(t, &many) != nil {
			return nil, true
		}
		for _, w := range many {
			all = append(all, w.message())
		}
		return all, true
	}
	var w wireMessage
	if json.Unmarshal(line, &w) != nil {
		return nil, false
	}
	return []message{w.message()}, false
}

func (w wireMessage) message() message {
	m := message{id: idKey(w.ID), method: w.Method}
	var p struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
	}
	switch m.method {
	case "tools/call", "notifications/cancelled":
		// Best effort: parameters of another shape have neither.
		_ = json.Unmarshal(w.Params, &p)
		m.name, m.cancel = p.Name, idKey(p.RequestID)
	}
	return m
}

// idKey makes equal ids equal text. What is neither a string nor a number is
// none.
func idKey(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return strconv.Quote(s)
		}
	}
	return string(raw)
}

// replyPrefix begins the replies of most servers.
var replyPrefix = []byte(`{"jsonrpc":"2.0","id":`)

// replyTo gives the ids that a line of the daemon answers. Most lines are told
// by their first bytes, so that a reply of megabytes is not parsed here.
func replyTo(line []byte) []string {
	if rest, ok := bytes.CutPrefix(line, replyPrefix); ok {
		if end := bytes.IndexAny(rest, ",}"); end > 0 && (rest[0] != '"' || plainString(rest[:end])) {
			return ids(idKey(rest[:end]))
		}
	}
	all, _ := sniff(line)
	var out []string
	for _, m := range all {
		if m.method == "" {
			out = append(out, ids(m.id)...)
		}
	}
	return out
}

func ids(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

// plainString reports whether b is one whole JSON string without an escape.
func plainString(b []byte) bool {
	return len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' && bytes.IndexByte(b[1:len(b)-1], '"') < 0 && bytes.IndexByte(b, '\\') < 0
}

// acknowledges gives the id of the listen that a line acknowledges, or "".
func acknowledges(line []byte) string {
	const method = `"notifications/subscriptions/acknowledged"`
	if !bytes.Contains(line[:min(len(line), 200)], []byte(method)) {
		return ""
	}
	var m struct {
		Params struct {
			Meta struct {
				ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	return idKey(m.Params.Meta.ID)
}

// errorLine is an error reply, with its newline. id is JSON; "" is null.
func errorLine(id string, code int, text string, data any) []byte {
	if id == "" {
		id = "null"
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	b, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{"2.0", json.RawMessage(id), rpcError{code, text, data}})
	if err != nil {
		b = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the error could not be told"}}`)
	}
	return append(b, '\n')
}

// withID gives a message another id.
func withID(line []byte, id string) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	b, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	m["id"] = b
	return json.Marshal(m)
}
