package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestEndOfInputDrains(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "1", "wait", `"ms":1900`) + call(era, "2", "wait", `"ms":60000`))
		p.write(strings.TrimSuffix(call(era, "3", "echo", ""), "\n")) // a last line without its newline
		from := time.Now()
		if err := p.finish(); err != nil {
			t.Error(err)
		}
		if took := time.Since(from); took != defaultDrain {
			t.Errorf("took %v", took)
		}
		p.result("1")
		p.result("3")
		if p.replies("2") != 0 {
			t.Error("a call that outlived the drain was answered")
		}
	})
}

func TestEndOfInputDoesNotWaitWithoutNeed(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "1", "echo", ""))
		from := time.Now()
		p.finish()
		if took := time.Since(from); took != 0 {
			t.Errorf("took %v", took)
		}
		p.result("1")
	})
}

func TestNoDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, func(o *Options) { o.Drain = -1 }), Legacy, "2025-11-25")
		p.write(call(Legacy, "1", "wait", `"ms":10`))
		synctest.Wait()
		from := time.Now()
		p.finish()
		if took := time.Since(from); took != 0 || p.replies("1") != 0 {
			t.Errorf("took %v, %d replies", took, p.replies("1"))
		}
	})
}

func TestEndOfContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		why := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		p := connectWith(t, ctx, toyFront(t, nil), true)
		p.write(call(Modern, "1", "wait", `"ms":60000`))
		synctest.Wait()
		from := time.Now()
		cancel(why)
		if err := <-p.done; !errors.Is(err, why) {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(from); took != 0 {
			t.Errorf("took %v", took)
		}
		<-p.eof
		if got := p.lines(); len(got) != 0 {
			t.Errorf("said %q", got)
		}
		p.in.Close()
	})
}

func TestReadErrorIsReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		why := errors.New("wire cut")
		var out bytes.Buffer
		in := io.MultiReader(strings.NewReader(call(Modern, "1", "echo", "")), iotest.ErrReader(why))
		if err := toyFront(t, nil).Serve(t.Context(), in, &out); !errors.Is(err, why) {
			t.Errorf("Serve: %v", err)
		}
		if !strings.Contains(out.String(), `"id":1,"result"`) {
			t.Errorf("said %q", out.String())
		}
	})
}

func TestSilentConnectionEndsSilently(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := toyFront(t, nil).Serve(t.Context(), strings.NewReader(""), &out); err != nil || out.Len() != 0 {
			t.Errorf("Serve: %v, said %q", err, out.String())
		}
	})
}

// A client that does not read for a while gets everything it is owed, and what
// waits for it is bounded.
func TestSlowReaderLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 5000
		p := connectWith(t, t.Context(), toyFront(t, nil), false)
		args := `"x":"` + strings.Repeat("a", 4000) + `"`
		wrote := make(chan struct{})
		go func() {
			for i := range n {
				if _, err := io.WriteString(p.in, call(Modern, fmt.Sprint(i), []string{"quick", "echo"}[i%2], args)); err != nil {
					t.Errorf("write: %v", err)
				}
			}
			close(wrote)
		}()
		time.Sleep(2 * time.Second)
		select {
		case <-wrote:
			t.Error("requests were taken without bound")
		default:
		}
		go p.read()
		<-wrote
		p.finish()
		seen := map[string]bool{}
		for _, l := range p.lines() {
			m, ok := parse(l)
			if !ok || m.Result == nil {
				t.Fatalf("said %q", l)
			}
			seen[string(m.ID)] = true
		}
		if len(seen) != n {
			t.Errorf("%d of %d replies", len(seen), n)
		}
	})
}

func TestWriteTimeoutEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connectWith(t, t.Context(), toyFront(t, func(o *Options) { o.WriteTimeout = 30 * time.Second }), false)
		from := time.Now()
		p.write(call(Modern, "1", "quick", "") + call(Modern, "2", "wait", `"ms":3600000`))
		if err := <-p.done; !errors.Is(err, errStalled) {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(from); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
		p.out.Close()
		p.in.Close()
	})
}

func TestClientThatNeverReadsCannotHoldTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connectWith(t, t.Context(), toyFront(t, nil), false)
		p.write(call(Modern, "1", "quick", ""))
		from := time.Now()
		p.in.Close()
		if err := <-p.done; !errors.Is(err, errStalled) {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(from); took != flushStall {
			t.Errorf("took %v", took)
		}
		p.out.Close()
	})
}

// After the client closed its end of the replies, requests are still served.
func TestClosedOutputKeepsServing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := 0
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "note", InputSchema: []byte(objectSchema), Handle: func(context.Context, *Call) Result {
				mu.Lock()
				defer mu.Unlock()
				calls++
				return Result{Text: "noted"}
			}})
		})
		p := connectWith(t, t.Context(), f, false)
		p.out.Close()
		for i := range 10 {
			p.write(call(Modern, fmt.Sprint(i), "note", ""))
			synctest.Wait()
		}
		p.in.Close()
		if err := <-p.done; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Serve: %v", err)
		}
		if calls != 10 {
			t.Errorf("%d calls served", calls)
		}
	})
}

func TestFirstReplyIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		told := make(chan struct{}, 10)
		f := toyFront(t, func(o *Options) { o.OnFirstReply = func() { told <- struct{}{} } })
		for range 2 {
			p := open(t, f, Legacy, "2025-11-25")
			p.goesOn(Legacy)
			p.finish()
		}
		synctest.Wait()
		if len(told) != 1 {
			t.Errorf("told %d times", len(told))
		}
	})
}

func TestHandlersOfAnEndedConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conns := make(chan *Conn, 1)
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "conn", InputSchema: []byte(objectSchema), Handle: func(_ context.Context, c *Call) Result {
				n := c.Conn.Value("n", func() any { return new(int) }).(*int)
				*n++
				if *n == 1 {
					conns <- c.Conn
				}
				return Result{Text: fmt.Sprint(*n)}
			}})
		})
		p := open(t, f, Modern, "")
		p.write(call(Modern, "1", "conn", ""))
		p.result("1")
		p.write(call(Modern, "2", "conn", ""))
		if got := string(p.result("2")["content"]); !strings.Contains(got, `"2"`) {
			t.Errorf("value of the connection: %s", got)
		}
		c := <-conns
		if err := c.Notify("notifications/toy", []byte(`{"a":1}`)); err != nil {
			t.Error(err)
		}
		p.find("notification", func(m msg) bool { return m.Method == "notifications/toy" && string(m.Params["a"]) == "1" })
		p.finish()
		<-c.Done()
		if err := c.Notify("notifications/toy", nil); err != ErrClosed {
			t.Errorf("Notify: %v", err)
		}
	})
}
