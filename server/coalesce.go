package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
)

// pushWindow is how long a notification collects what belongs into it. The
// first event opens the window and later ones do not move its end.
const pushWindow = 200 * time.Millisecond

// window waits for the end of a window, or for end if that comes first; false
// says that ctx has ended.
func window(ctx context.Context, end <-chan struct{}) bool {
	t := time.NewTimer(pushWindow)
	defer t.Stop()
	select {
	case <-t.C:
	case <-end:
	case <-ctx.Done():
		return false
	}
	return true
}

// deliver sends a notification as soon as the client reads. What it says is
// made at that moment; nil means that there is nothing to say any more.
func deliver(ctx context.Context, c *wire.Conn, notify func(string, json.RawMessage) error, method string, params func() json.RawMessage) error {
	for {
		if err := c.Room(ctx); err != nil {
			return err
		}
		p := params()
		if p == nil {
			return nil
		}
		if err := notify(method, p); !errors.Is(err, wire.ErrBacklog) {
			return err
		}
	}
}

// signal leaves a token in a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
