package server

import (
	"context"

	"github.com/belfry-dev/belfry/server/wire"
)

// wide is the size of a reply, in bytes, from which those of a connection are
// made one after another, and each only once the client has taken enough of what
// waits for it: else a client that asks for much and does not read has all of it
// made in vain.
const wide = 256 << 10

type wideKey struct{}

// room waits until a reply of up to so many bytes may be made. done is called
// once it is. The wait ends with ctx, for then the reply is nobody's.
func room(ctx context.Context, c *wire.Conn, size int) (done func()) {
	if size < wide {
		return func() {}
	}
	one := c.Value(wideKey{}, func() any { return make(chan struct{}, 1) }).(chan struct{})
	select {
	case one <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	// Best effort: on an error nobody reads the reply.
	_ = c.Room(ctx)
	return func() { <-one }
}
