package wire

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var oddIDs = []string{
	"0", "-1", "-0", `""`, `"0"`, `"a"`, `"` + strings.Repeat("x", 300) + `"`,
	"9007199254740993", "-9007199254740993", "9223372036854775807", "123456789012345678901234567890",
	`"\u0041\/"`, `"\"\\\n"`, `"\u00e9\u20ac"`, `"é€"`, `"\ud83d\ude00"`, `"\ud800"`,
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		for _, id := range oddIDs {
			n := len(p.lines())
			p.write(req(era, id, "tools/list", "") + call(era, id, "quick", "") + req(era, id, "no/such", ""))
			// Only one reply each: the first two are out when the next line is read.
			if got := p.replies(id); got != 3 {
				t.Errorf("id %s: %d replies in %q", id, got, p.lines()[n:])
			}
			p.write(call(era, id, "echo", ""))
			if got := p.replies(id); got != 4 {
				t.Errorf("id %s: no reply of a tool with a goroutine of its own", id)
			}
		}
	})
}

func TestAnIDInUseIsRefused(t *testing.T) {
	for id, same := range map[string]string{"5": "5", `"A"`: `"\u0041"`, `"\/"`: `"/"`, "0": "-0"} {
		inBoth(t, func(t *testing.T, p *pipe, era Era) {
			p.write(call(era, id, "wait", `"ms":1500`))
			p.write(req(era, same, "tools/list", ""))
			if p.nullErrors(CodeInvalidRequest) != 1 || p.replies(same) != 0 {
				t.Fatalf("id %s against %s: %q", same, id, p.lines())
			}
			time.Sleep(2 * time.Second)
			if !strings.Contains(string(p.result(id)["content"]), "waited") {
				t.Error("the first call lost its reply")
			}
			p.write(req(era, same, "tools/list", ""))
			p.result(same)
		})
	}
}

func TestDifferentIDsOfOneLook(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "5", "wait", `"ms":1200`) + call(era, `"\ud800"`, "wait", `"ms":1200`))
		p.write(req(era, `"5"`, "tools/list", "") + req(era, `"\ud801"`, "tools/list", ""))
		if p.result(`"5"`)["tools"] == nil || p.result(`"\ud801"`)["tools"] == nil {
			t.Error("no reply")
		}
		time.Sleep(2 * time.Second)
		p.result("5")
		p.result(`"\ud800"`)
	})
}

func TestNothingFollowsACancel(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		for _, id := range oddIDs {
			n := len(p.lines())
			p.write(call(era, id, "wait", `"ms":1200`))
			p.write(cancelOf(id))
			time.Sleep(2 * time.Second)
			if got := p.lines(); len(got) != n {
				t.Errorf("id %s: said %q", id, got[n:])
			}
			p.write(call(era, id, "quick", "")) // the id is free again
			if p.replies(id) != 1 {
				t.Errorf("id %s is not free after its cancel", id)
			}
		}
		p.goesOn(era)
	})
}

func TestCancelledHandlersLeaveNothingBehind(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		for i := range 3 * maxFlights {
			id := fmt.Sprint(1000 + i)
			p.write(call(era, id, "wait", `"ms":60000`) + cancelOf(id))
			if i%500 == 0 {
				synctest.Wait()
			}
		}
		p.write(call(era, "1", "wait", `"ms":50`))
		time.Sleep(time.Second)
		p.result("1")
	})
}

func TestBadCancelsAreIgnored(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		n := len(p.lines())
		for _, params := range []string{`{}`, `{"requestId":{}}`, `{"requestId":99}`, `{"requestId":null}`, `[1]`, `5`} {
			p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + "}\n")
		}
		p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n")
		p.write(cancelOf("77") + call(era, "77", "wait", `"ms":10`)) // a cancel in advance counts for nothing
		time.Sleep(time.Second)
		p.result("77")
		if got := p.lines(); len(got) != n+1 {
			t.Fatalf("said %q", got[n:])
		}
	})
}

func TestRequestsInFlightAreLimited(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		for i := range maxFlights {
			p.write(call(era, fmt.Sprint(i), "wait", `"ms":1000`))
		}
		p.write(call(era, `"more"`, "wait", `"ms":1`))
		p.wantError(`"more"`, CodeTooMany)
		p.write(call(era, `"inline"`, "quick", ""))
		p.result(`"inline"`)
		time.Sleep(2 * time.Second)
		got := p.results()
		for i := range maxFlights {
			if !got[fmt.Sprint(i)] {
				t.Errorf("no result for %d", i)
			}
		}
		p.write(call(era, `"later"`, "wait", `"ms":1`))
		time.Sleep(time.Second)
		p.result(`"later"`)
	})
}

func TestArgumentsInFlightAreLimited(t *testing.T) {
	text := `"ms":1000,"x":"` + strings.Repeat("a", 15<<20) + `"`
	bubble(t, func(t *testing.T) {
		era := Legacy
		p := open(t, toyFront(t, nil), era, "2025-11-25")
		for i := range 5 {
			p.write(call(era, fmt.Sprint(i), "wait", text))
		}
		p.wantError("4", CodeTooMany)
		time.Sleep(2 * time.Second)
		p.result("3")
		p.write(call(era, `"later"`, "wait", text))
		time.Sleep(2 * time.Second)
		p.result(`"later"`)
		p.finish()
	})
}

func TestPanicOfAHandlerIsAnError(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "1", "panic", ""))
		p.wantError("1", CodeInternal)
		p.goesOn(era)
	})
}
