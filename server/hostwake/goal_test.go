package hostwake

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory converses with a fake over pipes, on a clock of its own.
func inMemory(t *testing.T, mode string, f func(t *testing.T, g *goal)) {
	synctest.Test(t, func(t *testing.T) {
		fromUs, toThem := io.Pipe()
		fromThem, toUs := io.Pipe()
		go func() {
			(&fake{mode: mode, out: toUs, exit: func(int) { fromUs.Close() }}).serve(fromUs)
			toUs.Close()
		}()
		g := &goal{thread: "T-1"}
		g.peer = newPeer(fromThem, toThem, g.note)
		f(t, g)
		g.leave()
		toThem.Close()
		fromThem.Close()
	})
}

func TestGoalOutcomes(t *testing.T) {
	for _, c := range []struct {
		mode      string
		result    Result
		permanent bool
		detail    string
		took      time.Duration
	}{
		{"plain", Delivered, false, "turn", 0},
		{"one-write", Delivered, false, "turn", 0},
		{"all-at-once", Delivered, false, "turn", 0},
		{"early", Delivered, false, "turn", 0},
		{"late", Delivered, false, "turn", 4 * time.Second},
		{"pages", Delivered, false, "turn", 0},
		{"elsewhere", Refused, false, "no turn started within 5s", turnLimit},
		{"error", Refused, false, "thread/goal/set: no such thread (-32000)", 0},
		{"dies", Refused, false, "hung up", 0},
		{"no-goals", Unavailable, true, "goals", 0},
		{"endless", Unavailable, true, "goals", 0},
		{"silent", Unavailable, false, "did not answer within 30s", greetLimit},
		{"dead", Unavailable, false, "initialize: ", 0},
	} {
		t.Run(c.mode, func(t *testing.T) {
			inMemory(t, c.mode, func(t *testing.T, g *goal) {
				begin := time.Now()
				want(t, g.wake(t.Context(), "1.2.3", "job <1> ended"), c.result, c.permanent, c.detail)
				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// The turn's end is seen even when it arrived with its start.
func TestGoalFinishes(t *testing.T) {
	for _, mode := range []string{"plain", "one-write", "all-at-once", "early"} {
		t.Run(mode, func(t *testing.T) {
			inMemory(t, mode, func(t *testing.T, g *goal) {
				want(t, g.wake(t.Context(), "1.2.3", "job <1> ended"), Delivered, false, "")
				begin := time.Now()
				within, cancel := context.WithTimeout(t.Context(), stayLimit)
				defer cancel()
				g.finish(within)
				if took := time.Since(begin); took != 0 || !g.completed {
					t.Errorf("completed %v after %v", g.completed, took)
				}
			})
		})
	}
	inMemory(t, "working", func(t *testing.T, g *goal) {
		want(t, g.wake(t.Context(), "1.2.3", "job <1> ended"), Delivered, false, "")
		begin := time.Now()
		within, cancel := context.WithTimeout(t.Context(), stayLimit)
		defer cancel()
		g.finish(within)
		if took := time.Since(begin); took != stayLimit || g.completed {
			t.Errorf("completed %v after %v", g.completed, took)
		}
	})
}

func TestGoalInterrupted(t *testing.T) {
	for _, mode := range []string{"silent", "elsewhere"} {
		inMemory(t, mode, func(t *testing.T, g *goal) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			want(t, g.wake(ctx, "1.2.3", "job <1> ended"), Threw, false, context.DeadlineExceeded.Error())
		})
	}
}

// What is no message is passed over, and what the app-server asks is declined.
func TestPeerDeclines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		in := "starting up\n\n" + `{"id":"ask-1","method":"approve","params":{}}` + "\n" +
			`{"id":7,"result":{}}` + "\n" + `{"id":1,"result":{"ok":true}}` + "\n"
		p := newPeer(strings.NewReader(in), &out, func(m message) { t.Errorf("heard %+v", m) })
		var result struct{ OK bool }
		if err := p.call(t.Context(), "ask", struct{}{}, &result); err != nil || !result.OK {
			t.Errorf("the reply: %+v, %v", result, err)
		}
		p.leave()
		want := `{"jsonrpc":"2.0","id":1,"method":"ask","params":{}}` + "\n" +
			`{"jsonrpc":"2.0","id":"ask-1","error":{"code":-32601,"message":"this client answers no requests"}}` + "\n"
		if out.String() != want {
			t.Errorf("we wrote\n%s, want\n%s", out.String(), want)
		}
	})
}

func FuzzPeer(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{}}` + "\n" + turn("turn/started", "T-1")))
	f.Add([]byte(`{"id":1,"error":{"code":1,"message":"no"}}` + "\n"))
	f.Add([]byte("[]\n{\n\"\"\n{\"method\":\"turn/started\",\"params\":[]}\n{\"id\":1}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		g := &goal{thread: "T-1"}
		g.peer = newPeer(strings.NewReader(string(in)), io.Discard, g.note)
		// The stream ends, so the conversation does; whatever is said, no turn
		// is reported that was not announced.
		err := g.set(t.Context(), "x")
		if err == nil && !strings.Contains(string(in), "turn") && !strings.Contains(string(in), `\u`) {
			t.Errorf("a turn was seen in %q", in)
		}
		g.leave()
	})
}
