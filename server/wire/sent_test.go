package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What Sent notifies of comes after the reply, and a cancelled request has
// neither.
func TestSent(t *testing.T) {
	inBothWith(t, withTell, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "1", "tell", ""))
		p.result("1")
		lines := p.lines()
		last := lines[len(lines)-2:]
		if !strings.Contains(last[0], `"result"`) || !strings.Contains(last[1], `"notifications/told"`) {
			t.Errorf("said %q", last)
		}
		n := len(lines)
		p.write(call(era, "2", "tell", `"late":true`))
		synctest.Wait()
		p.write(cancelOf("2"))
		time.Sleep(time.Minute)
		if got := p.lines()[n:]; len(got) != 0 {
			t.Errorf("after a cancel: %q", got)
		}
	})
}

// withTell adds a tool that notifies once its reply is out; with late it
// replies after a while, whatever becomes of the request.
func withTell(o *Options) {
	o.Tools = append(o.Tools, Tool{
		Name: "tell", InputSchema: json.RawMessage(objectSchema),
		Handle: func(_ context.Context, c *Call) Result {
			if len(c.Arguments) > 2 {
				time.Sleep(time.Second)
			}
			return Result{Text: "told", Sent: func() {
				if err := c.Conn.Notify("notifications/told", nil); err != nil {
					panic(err)
				}
			}}
		},
	})
}

// Room waits for a client that does not read, and says when it is over.
func TestRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conns := make(chan *Conn, 1)
		f := toyFront(t, func(o *Options) {
			o.Tools[0].Handle = func(_ context.Context, c *Call) Result {
				conns <- c.Conn
				return Result{Text: "here"}
			}
		})
		p := connectWith(t, t.Context(), f, false)
		p.write(call(Modern, "1", "echo", ""))
		c := <-conns
		if err := c.Room(t.Context()); err != nil {
			t.Errorf("nothing waits: %v", err)
		}
		note := json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
		for c.Notify("notifications/much", note) == nil {
		}
		if err := c.Notify("notifications/much", note); !errors.Is(err, ErrBacklog) {
			t.Errorf("too much: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Room(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that does not read has room: %v", err)
		}
		waited := make(chan error, 2)
		for range 2 {
			go func() { waited <- c.Room(t.Context()) }()
		}
		synctest.Wait()
		go p.read()
		for range 2 {
			if err := <-waited; err != nil {
				t.Errorf("a client that reads: %v", err)
			}
		}
		if err := c.Notify("notifications/more", nil); err != nil {
			t.Errorf("with room: %v", err)
		}
		p.finish()
		if err := c.Context().Err(); err == nil {
			t.Error("the connection's context outlives it")
		}
	})
}
