package hostwake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// connectLimit bounds reaching the socket, and each write to it.
	connectLimit = time.Second
	// dropWindow is how long the host has to hang up on what it does not take.
	// It says nothing when it does.
	dropWindow = 500 * time.Millisecond
)

// Messaging wakes a host through the Unix socket that it listens on. The host
// answers nothing: a connection that it has not dropped half a second after the
// last line counts as taken.
type Messaging struct {
	socket, token string
	dial          func(context.Context) (net.Conn, error)
	trusted       atomic.Bool // the host took the token at the last attempt
}

// NewMessaging makes the transport for a socket's path and the token that the
// host gave with it. With either empty every attempt is Unavailable.
func NewMessaging(socket, token string) *Messaging {
	return &Messaging{
		socket: socket,
		token:  token,
		dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, "unix", socket)
		},
	}
}

// Name implements Transport.
func (m *Messaging) Name() string { return "claude-code-uds-messaging" }

type authLine struct {
	Type  string `json:"type"`
	Token string `json:"token"`
}

type userLine struct {
	Type    string      `json:"type"`
	Message userMessage `json:"message"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Wake implements Transport. The first attempt, and each after one that was not
// delivered, tries the token alone on a connection of its own, so that a host
// which drops strangers never sees the text.
func (m *Messaging) Wake(ctx context.Context, payload string) Outcome {
	if m.socket == "" || m.token == "" {
		return unavailable("no messaging socket and token were given").forGood()
	}
	auth := authLine{Type: "auth", Token: m.token}
	if !m.trusted.Load() {
		if o := m.say(ctx, auth); o.Result != Delivered {
			if o.Result == Refused {
				o.Detail = "the host hung up on the token"
			}
			return o
		}
	}
	o := m.say(ctx, auth, userLine{Type: "user", Message: userMessage{Role: "user", Content: payload}})
	m.trusted.Store(o.Result == Delivered)
	return o
}

// say opens a connection, writes lines and sees whether the host stays.
func (m *Messaging) say(ctx context.Context, lines ...any) Outcome {
	conn, err := m.dial(ctx)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			conn.Close()
		}
		return threw(ctx.Err())
	case err != nil:
		return unavailable("connect to the messaging socket: %v", cause(err))
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	o := stays(conn, lines)
	if ctx.Err() != nil {
		return threw(ctx.Err())
	}
	return o
}

// stays writes lines and sees whether the host hangs up. Our end is closed only
// when the attempt is given up, so an end that takes no deadline is the host's
// doing too.
func stays(conn net.Conn, lines []any) Outcome {
	if conn.SetWriteDeadline(time.Now().Add(connectLimit)) != nil {
		return refused("the host hung up")
	}
	for _, l := range lines {
		b, err := line(l)
		if err != nil {
			return threw(err)
		}
		if _, err := conn.Write(b); err != nil {
			return refused("the host does not read: %v", cause(err))
		}
	}
	if conn.SetReadDeadline(time.Now().Add(dropWindow)) != nil {
		return refused("the host hung up")
	}
	// What the host says is read, so that its end is seen behind it.
	for heard := make([]byte, 4096); ; {
		_, err := conn.Read(heard)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return Outcome{Result: Delivered, Detail: fmt.Sprintf("the host kept the connection for %v", dropWindow)}
		default:
			return refused("the host hung up")
		}
	}
}

// cause drops the addresses from a network error: they are long and known.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}
