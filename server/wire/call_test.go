package wire

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		for _, token := range []string{`"t\u0041"`, "0", "9007199254740993"} {
			n := len(p.lines())
			params := `"name":"count","_meta":{"progressToken":` + token + `}`
			line := req(era, token, "tools/call", params)
			if era == Modern {
				line = strings.Replace(req(era, token, "tools/call", `"name":"count"`), `"_meta":{`, `"_meta":{"progressToken":`+token+`,`, 1)
			}
			p.write(line)
			time.Sleep(2 * time.Second)
			var got []string
			for _, l := range p.lines()[n:] {
				m, _ := parse(l)
				if m.Method != "" {
					got = append(got, m.Method+" "+string(m.Params["progressToken"])+" "+string(m.Params["progress"])+" "+string(m.Params["message"]))
				} else {
					got = append(got, "reply")
				}
			}
			want := []string{
				"notifications/progress " + token + ` 0 "line <0>"`, "notifications/progress " + token + ` 1 "line <1>"`,
				"notifications/progress " + token + ` 2 "line <2>"`, "notifications/progress " + token + " 2.5 ", "reply",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("token %s: %q, want %q", token, got, want)
			}
		}
		for i, meta := range []string{`{}`, `{"progressToken":null}`, `{"progressToken":{}}`, `{"progressToken":1.5}`} {
			id := fmt.Sprint(i + 10)
			line := req(Legacy, id, "tools/call", `"name":"count","_meta":`+meta)
			if era == Modern {
				line = strings.Replace(req(era, id, "tools/call", `"name":"count"`), `"_meta":{`, `"_meta":{`+strings.TrimSuffix(meta[1:], "}")+map[bool]string{true: ",", false: ""}[len(meta) > 2], 1)
			}
			p.write(line)
			if got := string(p.result(id)["content"]); !strings.Contains(got, "no token") {
				t.Errorf("_meta %s: %s", meta, got)
			}
		}
	})
}

func TestNoProgressAfterACancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "tick", InputSchema: []byte(objectSchema), Handle: func(ctx context.Context, c *Call) Result {
				for i := 1; i < 10; i++ {
					time.Sleep(time.Second)
					c.Progress(float64(i), "")
				}
				return Result{}
			}})
		})
		p := open(t, f, Legacy, "2025-11-25")
		p.write(req(Legacy, "1", "tools/call", `"name":"tick","_meta":{"progressToken":1}`))
		time.Sleep(2500 * time.Millisecond)
		n := len(p.lines())
		p.write(cancelOf("1"))
		time.Sleep(20 * time.Second)
		if got := p.lines(); n != 3 || len(got) != n {
			t.Errorf("%d lines before the cancel, %q after", n, got[n:])
		}
		p.finish()
	})
}

// A client that does not read is sent no flood of progress, and notifications
// beyond what may wait for it are refused.
func TestBacklog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const flood = 200_000
		refused := make(chan int, 1)
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "flood", InputSchema: []byte(objectSchema), Handle: func(_ context.Context, c *Call) Result {
				for i := range flood {
					c.Progress(float64(i), "")
				}
				n, params := 0, []byte(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
				for range 20 {
					if err := c.Conn.Notify("notifications/x", params); err == ErrBacklog {
						n++
					} else if err != nil {
						t.Error(err)
					}
				}
				refused <- n
				return Result{Text: "done"}
			}})
		})
		p := connectWith(t, t.Context(), f, false)
		p.write(hello("2025-11-25", "{}") + initialized + req(Legacy, "1", "tools/call", `"name":"flood","_meta":{"progressToken":1}`))
		if n := <-refused; n < 10 {
			t.Errorf("%d of 20 MiB of notifications refused", n)
		}
		go p.read()
		p.finish()
		told := 0
		for _, l := range p.lines() {
			if m, _ := parse(l); m.Method == "notifications/progress" {
				told++
			}
		}
		p.result("1")
		if told == 0 || told > busy/50 {
			t.Errorf("%d progress notifications waited for a client that does not read", told)
		}
	})
}

func TestBeginRunsInTheOrderOfTheRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 500
		var mu sync.Mutex
		var begun, handled []string
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "ordered", InputSchema: []byte(objectSchema),
				Begin: func(_ context.Context, c *Call) any {
					mu.Lock()
					defer mu.Unlock()
					begun = append(begun, string(c.Arguments))
					if string(c.Arguments) == `{"i":7}` {
						panic("boom")
					}
					return len(begun)
				},
				Handle: func(_ context.Context, c *Call) Result {
					mu.Lock()
					defer mu.Unlock()
					handled = append(handled, string(c.Arguments))
					return Result{Text: fmt.Sprint(c.Begun)}
				}})
		})
		p := open(t, f, Modern, "")
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf(`{"i":%d}`, i))
			p.write(call(Modern, fmt.Sprint(i), "ordered", fmt.Sprintf(`"i":%d`, i)))
		}
		p.finish()
		if !reflect.DeepEqual(begun, want) {
			t.Errorf("begun in the order %q", begun)
		}
		if len(handled) != n-1 {
			t.Errorf("%d handled", len(handled))
		}
		p.wantError("7", CodeInternal)
		if got := string(p.result("9")["content"]); !strings.Contains(got, `"10"`) {
			t.Errorf("call 9 found %s", got)
		}
	})
}

func TestCallMeta(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		got := make(chan string, 1)
		f := toyFront(t, func(o *Options) {
			o.Tools = append(o.Tools, Tool{Name: "meta", InputSchema: []byte(objectSchema), Inline: true, Handle: func(_ context.Context, c *Call) Result {
				got <- string(c.Meta("threadId")) + string(c.Meta("THREADID"))
				return Result{}
			}})
		})
		q := open(t, f, era, "2025-11-25")
		line := req(Legacy, "1", "tools/call", `"name":"meta","_meta":{"threadId":"t<1>"}`)
		if era == Modern {
			line = strings.Replace(req(Modern, "1", "tools/call", `"name":"meta"`), `"_meta":{`, `"_meta":{"threadId":"t<1>",`, 1)
		}
		q.write(line)
		if s := <-got; s != `"t<1>"` {
			t.Errorf("threadId is %s", s)
		}
		q.finish()
	})
}

// Goroutines that wait for their next request leave with their connection.
// That of a test's bubble would fail if one stayed.
func TestManyConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := toyFront(t, nil)
		for range 20 {
			p := open(t, f, Modern, "")
			for i := range 3 * maxIdle {
				p.write(call(Modern, fmt.Sprint(i), "wait", `"ms":100`))
			}
			time.Sleep(time.Second)
			if got := p.results(); len(got) != 3*maxIdle+1 {
				t.Errorf("%d results", len(got))
			}
			p.finish()
			synctest.Wait()
		}
	})
}
