package wire

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Era says which of the two protocol forms a request came in. The values are
// bits, so that a Method can name both.
type Era uint8

const (
	// Legacy is the form opened by initialize, revisions 2024-11-05 to 2025-11-25.
	Legacy Era = 1 << iota
	// Modern is the form of revision 2026-07-28: every request carries its
	// protocol version and client capabilities in params._meta.
	Modern
	// Both stands for either era. It is a value for Method.Eras only.
	Both = Legacy | Modern
)

// String returns "legacy", "modern" or "both".
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	case Both:
		return "both"
	}
	return "unknown"
}

// Tool is one row of the table that makes the tools/list reply, the directly
// served tools/call and the registration with go-sdk.
type Tool struct {
	Name, Title, Description string
	// InputSchema and OutputSchema are JSON Schema objects. InputSchema is
	// required. They are advertised, not enforced: Handle checks its arguments.
	InputSchema, OutputSchema json.RawMessage
	Annotations               mcp.ToolAnnotations
	// Meta is the _meta object of the tool's entry in tools/list; nil for none.
	Meta map[string]any
	// Inline runs Handle on the goroutine that reads the connection, which
	// saves a handover. It is for handlers that compute and return: while one
	// runs, nothing else is read, cancellations included.
	Inline bool
	// Begin, when not nil, runs before Handle on the goroutine that reads the
	// connection, and so in the order of the requests; Handle finds in
	// Call.Begun what it returned. It is for what must not overtake an earlier
	// request, such as taking one of a bounded number of places, and what is
	// said of Inline holds for it. Handle always follows.
	Begin func(ctx context.Context, c *Call) any
	// Handle serves one call. ctx ends when the client cancels the request and
	// when the connection ends; what Handle returns after that is thrown away.
	Handle func(ctx context.Context, c *Call) Result
}

// Call is one tools/call request.
type Call struct {
	Tool string
	Era  Era
	// Arguments is the arguments object as it was sent, or nil when absent.
	// It is the handler's to keep.
	Arguments json.RawMessage
	// InputResponses are the client's answers to what an earlier reply to this
	// call, with resultType "input_required", asked for; nil when absent.
	InputResponses json.RawMessage
	// Tasks says that the client declared the Tasks extension: at initialize in
	// the legacy era, in this very request in the modern one.
	Tasks bool
	// RawMeta is the params._meta object as it was sent, or nil when absent;
	// Meta looks into it.
	RawMeta json.RawMessage
	// Progress sends notifications/progress for this request. It is nil when
	// the request brought no token. It never blocks, is safe for concurrent
	// use, and says nothing once the reply is out or the request was cancelled.
	// progress must grow from call to call; a value that does not is not sent.
	// message may be "".
	Progress func(progress float64, message string)
	Conn     *Conn
	// Begun is what Tool.Begin returned.
	Begun any

	flight *flight // nil in a call without a connection
	broken bool    // Begin panicked
}

// Waits says that from now on the call only waits for what others do and
// starts nothing: at the end of the input Options.OnEnd need not wait for it.
// It may be called from Tool.Begin and Tool.Handle, more than once.
func (c *Call) Waits() {
	if c.flight != nil && c.Conn != nil {
		c.Conn.flights.wait(c.flight)
	}
}

// Meta returns the value of one key of params._meta, or nil when there is none.
func (c *Call) Meta(key string) json.RawMessage { return member(c.RawMeta, key) }

// Result is what a tool answers.
type Result struct {
	// Structured becomes structuredContent; nil for none. Valid JSON without a
	// raw newline.
	Structured json.RawMessage
	// Text becomes content[0].text, unescaped except for what JSON demands.
	Text    string
	IsError bool
	// Raw, when not nil, is the whole result object, for extensions; the
	// members above are then ignored. In the modern era resultType and _meta
	// serverInfo are added to it when it lacks them.
	Raw json.RawMessage
	// Err, when not nil, makes the reply a JSON-RPC error instead.
	Err *Error
	// Sent, when not nil, is called once the reply has been queued for the
	// client, so that what it notifies of comes after the reply. It must not
	// block, and is not called when there is no reply because the request was
	// cancelled. Inside a batch the reply still waits for the others.
	Sent func()
}

// Error is a JSON-RPC error reply.
type Error struct {
	Code    int64
	Message string
	Data    any // encoded with encoding/json; nil for none
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Codes of JSON-RPC error replies.
const (
	CodeParse             = -32700
	CodeInvalidRequest    = -32600
	CodeMethodNotFound    = -32601
	CodeInvalidParams     = -32602
	CodeInternal          = -32603
	CodeMissingCapability = -32021 // data.requiredCapabilities says which
	CodeBadVersion        = -32022 // data.supported, data.requested
	// CodeOutcomeUnknown: the request was passed on and its fate is not known.
	CodeOutcomeUnknown = -31010
	// CodeTooMany: too many requests in flight or listens open on the connection.
	CodeTooMany = -31011
)

// TasksExtension is the name of the Tasks extension in capabilities.extensions.
const TasksExtension = "io.modelcontextprotocol/tasks"

// Method is a JSON-RPC method served by the table of Options rather than by
// go-sdk. In an era that Eras does not name it does not exist (-32601).
type Method struct {
	Eras Era
	// Tasks makes a request of a client that did not declare the Tasks
	// extension fail with -32021 in the modern era. The legacy era has no such
	// error: there Handle decides by Request.Tasks.
	Tasks bool
	// Listen marks a request that stays open to carry notifications, as
	// subscriptions/listen does. It counts against the limit of 256 open
	// listens, and its ctx ends at the end of the input, before other requests
	// are drained; unlike that of a cancelled request, its reply is then sent.
	Listen bool
	// Inline has the meaning of Tool.Inline.
	Inline bool
	// Handle returns the result object, or an error reply. ctx is that of Tool.Handle.
	// In the modern era resultType "complete" and _meta serverInfo are added
	// to a result that lacks them.
	Handle func(ctx context.Context, r *Request) (json.RawMessage, *Error)
}

// Request is one request for a Method.
type Request struct {
	Method string
	Era    Era
	// ID is the request's id as it was sent, the value of
	// _meta["io.modelcontextprotocol/subscriptionId"] in a listen's notifications.
	ID     json.RawMessage
	Params json.RawMessage // the params object, or nil when absent
	Tasks  bool            // as Call.Tasks
	// RawMeta is the params._meta object as it was sent, or nil when absent.
	RawMeta json.RawMessage
	Conn    *Conn
	// Notify sends a notification that belongs to this request: nothing is sent
	// once the reply is out or the request was cancelled (it then returns
	// ErrClosed). Otherwise as Conn.Notify.
	Notify func(method string, params json.RawMessage) error
}

// Options describe a server.
type Options struct {
	Name, Title, Version, Instructions string
	// Icons go into serverInfo.
	Icons []mcp.Icon
	Tools []Tool
	// Resources, Prompts and Completions declare these capabilities, resources
	// with subscriptions and all of them without listChanged. Their methods are
	// rows of Methods.
	Resources, Prompts, Completions bool
	// Extensions are declared in the server's capabilities, by name.
	Extensions map[string]any
	// Methods are the methods of extensions, by name. The names that the front
	// or go-sdk serves (initialize, ping, tools/call and so on) are refused by New.
	Methods map[string]Method
	// OnFirstReply, when not nil, is called once in the Front's life, from a
	// goroutine of its own, after the first reply has been written.
	OnFirstReply func()
	// OnEnd, when not nil, is called once for each connection, when nothing that
	// it has sent will start anything more: its input has ended and every
	// request in work only waits (Call.Waits), or the drain is over, or the
	// connection has failed or was told to end. Calls that wait are still
	// answered, within the drain, by what OnEnd brings about. It must not block.
	OnEnd func()
	// Drain bounds how long requests in flight at the end of the input may
	// still be answered. 0 means 2 s, negative none.
	Drain time.Duration
	// WriteTimeout ends a connection whose client has not taken one write (of at
	// most 64 KiB) for that long. 0 means never: a stopped client then costs the
	// memory of the replies it is owed, which is bounded, and nothing is lost.
	WriteTimeout time.Duration
	// Log takes diagnostics meant for stderr, from any goroutine. nil drops them.
	Log func(format string, args ...any)
}

// ConnOptions are what one connection has of its own.
type ConnOptions struct {
	// Tag is handed to handlers by Conn.Tag.
	Tag any
	// Drain, when not nil, is asked at the end of the input instead of
	// Options.Drain, with the same meaning of its answer.
	Drain func() time.Duration
}
