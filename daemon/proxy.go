package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// ProxyOptions say what a bridge does beside carrying lines.
type ProxyOptions struct {
	// MCPPath is where messages are posted when the daemon serves no streams;
	// "" is /mcp.
	MCPPath string
	Stdin   io.Reader // nil is os.Stdin
	Stdout  io.Writer // nil is os.Stdout
	// LogPayloads has the first 500 bytes of each message written to proxy.log
	// in DataDir.
	LogPayloads bool

	// Role and Meta say who attaches, as in DialOptions; Role is "mcp" unless set.
	Role string
	Meta any
	// Start lets the bridge begin without a daemon: one is started for the
	// first message. Without it Proxy returns ErrNotRunning.
	Start bool
	// Resend says whether a request that a daemon had taken when it died may be
	// sent to the next one: whether doing it twice is doing it once. method is
	// the JSON-RPC method, tool that of a tools/call. nil: none may.
	Resend func(method, tool string) bool
	// MaxLine is the longest line that is passed on, in bytes; 0 is 16 MiB. A
	// longer one is answered with an error and skipped.
	MaxLine int
}

const (
	defaultMaxLine = 16 << 20
	// flushLimit is how long replies are waited for once the input has ended.
	flushLimit = 2 * time.Second
	payloadLog = 500 // bytes of a message
)

// The codes of the errors that a bridge answers with itself.
const (
	codeInvalidRequest = -32600
	codeUnavailable    = -32603
	// codeUnknown: the request was passed on, and what became of it is unknown.
	codeUnknown = -31010
)

// Proxy is a bridge between a client that speaks newline-delimited JSON-RPC on
// standard input and output and the daemon: any number of requests are in
// flight, and what the daemon sends unasked reaches the client. It holds a lease
// for as long as the daemon lives.
//
// When the daemon is gone, the next message finds another one, and starts one
// where Start or Config.Binary says so; a bridge that only waits revives
// nothing. The client does not notice: an opening exchange is repeated, open
// subscriptions/listen requests are made again, and what the old daemon had not
// taken is sent again. What it had taken and not answered is answered with error
// -31010, unless Resend allows it to be sent again. While there can be no daemon
// requests are answered with error -32603, which says why.
//
// It returns nil at the end of the input, when the replies that are due have
// been written or 2 s have passed; the cause of ctx; or an error of reading or
// writing. A last line without a newline is one.
func Proxy(ctx context.Context, cfg Config, opts ProxyOptions) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	mayStart := opts.Start || cfg.Binary != ""
	d := New(cfg)
	opts = opts.withDefaults()
	log, done, err := proxyLog(d, opts.LogPayloads)
	if err != nil {
		return wrap("bridge to", cfg.Name, err)
	}
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := newBridge(ctx, d, opts, mayStart, log, cancel)
	if !opts.Start {
		l, err := d.attach(ctx, b.who(), false)
		if errors.Is(err, errNobody) || errors.Is(err, ErrDraining) {
			err = ErrNotRunning
		}
		if err != nil {
			return wrap("bridge to", cfg.Name, err)
		}
		b.use(l)
	}
	input := make(chan error, 1)
	go func() { input <- b.read(opts.Stdin, opts.MaxLine) }()
	select {
	case err = <-input:
		b.finish(flushLimit)
	case <-ctx.Done():
		err = context.Cause(ctx)
		if in, ok := opts.Stdin.(interface{ SetReadDeadline(time.Time) error }); ok {
			// Best effort: sets the reading goroutine free where the input can.
			_ = in.SetReadDeadline(time.Unix(1, 0))
		}
	}
	b.close()
	if failed := b.failure(); err == nil || failed != nil {
		err = failed
	}
	return err
}

func (o ProxyOptions) withDefaults() ProxyOptions {
	if o.MCPPath == "" {
		o.MCPPath = "/mcp"
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Role == "" {
		o.Role = "mcp"
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.Resend == nil {
		o.Resend = func(string, string) bool { return false }
	}
	return o
}

// proxyLog is nil unless payloads are to be logged.
func proxyLog(d *Daemon, payloads bool) (*slog.Logger, func(), error) {
	if !payloads {
		return nil, func() {}, nil
	}
	if err := d.files.make(d.cfg.Transport == Socket); err != nil {
		return nil, nil, err
	}
	f, err := newLogFile(filepath.Join(d.files.dir, "proxy.log"), maxLog, nil)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(f, nil)), func() { f.Close() }, nil
}

// read hands over the lines of the input until it ends.
func (b *bridge) read(in io.Reader, most int) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := nextLine(r, most)
		switch {
		case long:
			b.write(errorLine("", codeInvalidRequest, fmt.Sprintf("Invalid Request: the line is longer than %d MiB", most>>20), nil))
		case len(bytes.TrimSpace(line)) > 0:
			b.send(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
	}
}

// nextLine reads a line without its newline, which a last one may lack. One
// that is too long is skipped whole. The line is the caller's to keep.
func nextLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if len(bytes.TrimSuffix(line, []byte("\n"))) > most {
				long, line = true, nil
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), long, err
	}
}
