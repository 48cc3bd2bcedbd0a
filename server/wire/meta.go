package wire

import "fmt"

// Revisions of the protocol.
const modernVersion = "2026-07-28"

const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
)

// params are the members of params that the front itself looks at.
type params struct {
	name, arguments, meta []byte
	inputs                []byte // inputResponses
	twice                 bool   // one of them stands there twice
	version, capabilities []byte
	token                 []byte // progressToken, when it is one
}

func readParams(v []byte) (p params) {
	set := func(to *[]byte, val []byte) {
		p.twice = p.twice || *to != nil
		*to = val
	}
	for m := object(v); m.next(); {
		switch string(m.key) {
		case "name":
			set(&p.name, m.val)
		case "arguments":
			set(&p.arguments, m.val)
		case "inputResponses":
			set(&p.inputs, m.val)
		case "_meta":
			set(&p.meta, m.val)
		}
	}
	for m := object(p.meta); m.next(); {
		switch string(m.key) {
		case versionKey:
			set(&p.version, m.val)
		case capabilitiesKey:
			set(&p.capabilities, m.val)
		case "progressToken":
			if validID(m.val) {
				p.token = m.val
			}
		}
	}
	return p
}

// era tells the era of a request. Either of the two required members of the
// envelope makes it a modern one, so that the other is missed by name.
func (p *params) era() Era {
	if p.version != nil || p.capabilities != nil {
		return Modern
	}
	return Legacy
}

// envelope checks the members that a modern request must have.
func (p *params) envelope() *Error {
	if !isString(p.version) {
		return missing(versionKey, "a string")
	}
	if v := string(unquoted(p.version)); v != modernVersion {
		return &Error{
			Code:    CodeBadVersion,
			Message: fmt.Sprintf("unsupported protocol version %.40q", v),
			Data:    map[string]any{"supported": []string{modernVersion}, "requested": v},
		}
	}
	if !isObject(p.capabilities) {
		return missing(capabilitiesKey, "an object")
	}
	return nil
}

func missing(key, form string) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("params._meta[%q] is required and must be %s", key, form)}
}

// declaresTasks says whether a capabilities object has the Tasks extension.
func declaresTasks(capabilities []byte) bool {
	return member(member(capabilities, "extensions"), TasksExtension) != nil
}

// NeedsTasks is the reply to a modern request that needs the Tasks extension
// and does not declare it.
func NeedsTasks() *Error {
	return &Error{
		Code:    CodeMissingCapability,
		Message: "the client has not declared the extension " + TasksExtension,
		Data: map[string]any{"requiredCapabilities": map[string]any{
			"extensions": map[string]any{TasksExtension: map[string]any{}},
		}},
	}
}
