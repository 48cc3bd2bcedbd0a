package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func withMethods(o *Options) {
	o.Methods = map[string]Method{
		"tasks/get": {Eras: Both, Tasks: true, Inline: true, Handle: func(_ context.Context, r *Request) (json.RawMessage, *Error) {
			return nil, &Error{Code: CodeInvalidParams, Message: "unknown task"}
		}},
		"subscriptions/listen": {Eras: Modern, Listen: true, Handle: func(ctx context.Context, r *Request) (json.RawMessage, *Error) {
			if err := r.Notify("notifications/subscriptions/acknowledged", json.RawMessage(`{"id":`+string(r.ID)+`}`)); err != nil {
				return nil, &Error{Code: CodeInternal, Message: err.Error()}
			}
			<-ctx.Done()
			if err := r.Notify("notifications/late", nil); context.Cause(ctx) == errCancelled && err != ErrClosed {
				panic(err)
			}
			return json.RawMessage(`{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(r.ID) + `}}`), nil
		}},
	}
}

func TestMethodsOfExtensions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, withMethods), Legacy, "2025-11-25")
		p.write(req(Legacy, "1", "tasks/get", `"taskId":"x"`) + req(Modern, "2", "tasks/get", `"taskId":"x"`))
		p.wantError("1", CodeInvalidParams)
		p.wantError("2", CodeInvalidParams)
		p.write(strings.Replace(req(Modern, "3", "tasks/get", `"taskId":"x"`), `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "{}", 1))
		p.wantError("3", CodeMissingCapability)
		p.finish()
	})
}

func TestOpenListens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, withMethods), Modern, "")
		for i := range maxListens {
			p.write(req(Modern, fmt.Sprint(i), "subscriptions/listen", ""))
		}
		p.write(req(Modern, `"7"`, "subscriptions/listen", ""))
		p.wantError(`"7"`, CodeTooMany)
		p.write(req(Modern, "7", "subscriptions/listen", ""))
		if p.nullErrors(CodeInvalidRequest) != 1 {
			t.Error("a listen under an id in use was not refused")
		}
		p.write(cancelOf("0"))
		synctest.Wait()
		p.write(req(Modern, `"7"`, "subscriptions/listen", ""))
		p.find("acknowledgement", func(m msg) bool { return string(m.Params["id"]) == `"7"` })
		if n := p.replies("0") + p.replies("7"); n != 0 {
			t.Error("an open or a cancelled listen was answered")
		}
		from := time.Now()
		if err := p.finish(); err != nil {
			t.Error(err)
		}
		if took := time.Since(from); took != 0 {
			t.Errorf("open listens held the end up for %v", took)
		}
		got := p.results()
		for i := 1; i < maxListens; i++ {
			if !got[fmt.Sprint(i)] {
				t.Errorf("listen %d ended without its response", i)
			}
		}
		if p.replies("0") != 0 {
			t.Error("a cancelled listen was answered")
		}
	})
}
