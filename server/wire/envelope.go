package wire

import "encoding/json"

// message is the envelope of one JSON-RPC message. Its slices alias the line.
type message struct {
	id     []byte // nil: a notification
	method string
	params []byte // an object, or nil when absent or null
	kind   kind
	// badParams says that params is there and no object.
	badParams bool
}

type kind uint8

const (
	isRequest kind = iota
	isNotification
	isReply // of the client, to a request never sent
)

// decode reads the envelope of one message, whose bytes are valid JSON. ok is
// false for what is no JSON-RPC 2.0 message: to be answered with -32600 and a
// null id.
func decode(v []byte) (m message, ok bool) {
	v = trimSpace(v)
	if !isObject(v) {
		return m, false
	}
	var version, method, reply bool
	var id, params []byte
	for f := object(v); f.next(); {
		switch string(f.key) {
		case "jsonrpc":
			version = string(unquotedValue(f.val)) == "2.0"
		case "id":
			if id != nil {
				return m, false
			}
			id = f.val
		case "method":
			if method || !isString(f.val) {
				return m, false
			}
			method, m.method = true, string(unquoted(f.val))
		case "params":
			if params != nil {
				return m, false
			}
			params = f.val
		case "result", "error":
			reply = true
		}
	}
	if !version {
		return m, false
	}
	if !method {
		m.kind = isReply
		return m, reply
	}
	if m.id = id; id == nil {
		m.kind = isNotification
	} else if !validID(id) {
		return m, false
	}
	if isObject(params) {
		m.params = params
	} else {
		m.badParams = params != nil && !isNull(params)
	}
	return m, true
}

// unquotedValue decodes v when it is a string and is nil otherwise.
func unquotedValue(v []byte) []byte {
	if !isString(v) {
		return nil
	}
	return unquoted(v)
}

// valid says whether line is one JSON value. encoding/json refuses nesting
// deeper than 10,000, so what passes is safe to walk recursively.
func valid(line []byte) bool { return json.Valid(line) }
