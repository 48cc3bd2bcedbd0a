package wire

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// parked is a tool whose calls only wait, from Begin or from Handle on, until
// release is closed.
func parked(inBegin bool, release <-chan struct{}) Tool {
	t := Tool{Name: "parked", InputSchema: []byte(objectSchema)}
	if inBegin {
		t.Begin = func(_ context.Context, c *Call) any { c.Waits(); return nil }
	}
	t.Handle = func(ctx context.Context, c *Call) Result {
		c.Waits()
		c.Waits()
		select {
		case <-release:
			return Result{Text: "released"}
		case <-ctx.Done():
			return Result{Text: "cancelled"}
		}
	}
	return t
}

// At the end of the input OnEnd waits for the calls in work, not for those that
// only wait, and these are answered by what it brings about.
func TestOnEndOfInput(t *testing.T) {
	for _, inBegin := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			var from time.Time
			var told []time.Duration
			p := connect(t, toyFront(t, func(o *Options) {
				o.Tools = append(o.Tools, parked(inBegin, release))
				withMethods(o)
				o.OnEnd = func() {
					told = append(told, time.Since(from))
					close(release)
				}
			}))
			p.write(call(Modern, "1", "parked", "") + call(Modern, "2", "wait", `"ms":700`) +
				req(Modern, "3", "subscriptions/listen", "") + call(Modern, "4", "parked", ""))
			synctest.Wait()
			if len(told) != 0 {
				t.Fatal("told before the end of the input")
			}
			from = time.Now()
			if err := p.finish(); err != nil {
				t.Error(err)
			}
			if took := time.Since(from); took != 700*time.Millisecond || len(told) != 1 || told[0] != took {
				t.Errorf("told after %v, over after %v", told, took)
			}
			for _, id := range []string{"1", "2", "3", "4"} {
				p.result(id)
			}
		})
	}
}

// A call that waits and is not released is left, as is one that goes on; the
// second holds OnEnd up for the length of the drain.
func TestOnEndIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			calls string
			told  time.Duration
		}{
			{"", 0},
			{call(Modern, "1", "parked", ""), 0},
			{call(Modern, "1", "parked", "") + cancelOf("1"), 0},
			{call(Modern, "1", "parked", "") + call(Modern, "2", "wait", `"ms":60000`), defaultDrain},
		} {
			var from time.Time
			told := time.Duration(-1)
			p := connect(t, toyFront(t, func(o *Options) {
				o.Tools = append(o.Tools, parked(true, nil))
				o.OnEnd = func() { told = time.Since(from) }
			}))
			p.write(c.calls)
			synctest.Wait()
			from = time.Now()
			p.finish()
			if told != c.told {
				t.Errorf("%q: told after %v, want %v", c.calls, told, c.told)
			}
		}
	})
}

// Neither a client that does not read nor one that still waits keeps OnEnd
// from coming at once when the context ends, and the client is then given less
// time than at the end of its input.
func TestOnEndOfContext(t *testing.T) {
	for _, eof := range []time.Duration{-1, time.Second} {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var told atomic.Int32
			p := connectWith(t, ctx, toyFront(t, func(o *Options) {
				o.OnEnd = func() { told.Add(1) }
			}), false)
			p.write(call(Modern, "1", "echo", "") + call(Modern, "2", "wait", `"ms":60000`))
			synctest.Wait()
			if eof >= 0 {
				p.in.Close()
				time.Sleep(defaultDrain + eof) // into the flush
			}
			from := time.Now()
			cancel(errors.New("told to stop"))
			synctest.Wait()
			if told.Load() != 1 {
				t.Errorf("told %d times", told.Load())
			}
			<-p.done
			if took := time.Since(from); took != toldStall {
				t.Errorf("took %v", took)
			}
			p.out.Close()
			p.in.Close()
		})
	}
}

func TestWaitsWithoutConnection(t *testing.T) {
	c := &Call{}
	c.Waits()
	inline := Tool{Name: "still", InputSchema: []byte(objectSchema), Inline: true, Handle: func(_ context.Context, c *Call) Result {
		c.Waits()
		return Result{Text: "done"}
	}}
	bubble(t, func(t *testing.T) {
		p := connect(t, toyFront(t, func(o *Options) { o.Tools = append(o.Tools, inline) }))
		p.write(strings.Repeat(call(Modern, "1", "still", ""), 2))
		from := time.Now()
		p.finish()
		if took := time.Since(from); took != 0 || p.replies("1") != 2 {
			t.Errorf("took %v, %d replies", took, p.replies("1"))
		}
	})
}
