package hostwake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("app-server", func(args []string) int {
		(&fake{mode: args[0], out: os.Stdout, exit: os.Exit}).serve(os.Stdin)
		return 0
	})
}

// fake is an app-server. It refuses what a real one would: requests before the
// handshake, and goals that are not whole.
//
//	plain        reply, turn/started and turn/completed, each a write
//	one-write    reply and turn/started in one write, completed with the next
//	all-at-once  reply, turn/started and turn/completed in one write
//	early        turn/started before the reply
//	late         turn/started four seconds after the reply
//	elsewhere    a turn of another thread starts, none of this one
//	error        the goal is answered with an error
//	no-goals     the feature is listed as disabled
//	pages        the feature is on the third page
//	endless      every page has a next one
//	noisy        text between the messages, and a request that must be declined
//	silent       answers nothing
//	dead         exits at once
//	dies         exits instead of answering the goal
//	deaf         does not go when its input ends
//	working      the turn never completes
type fake struct {
	mode string
	out  io.Writer
	exit func(int)
}

const goalAsWritten = `{"threadId":"T-1","objective":"job <1> ended","status":"active","tokenBudget":20000}`

func (f *fake) serve(in io.Reader) {
	if f.mode == "dead" {
		f.exit(3)
		return
	}
	greeted := false
	for s := bufio.NewScanner(in); s.Scan(); {
		var m message
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			f.exit(4)
			return
		}
		switch {
		case f.mode == "silent":
		case m.Method == "initialize":
			f.handshake(m)
		case m.Method == "initialized":
			greeted = true
		case !greeted:
			f.write(failed(m.ID, -32600, "not initialized"))
		case m.Method == "experimentalFeature/list":
			f.features(m)
		case m.Method == "thread/goal/set" && string(m.Params) != goalAsWritten:
			f.write(failed(m.ID, -32602, string(m.Params)))
		case m.Method == "thread/goal/set" && f.mode == "dies":
			f.exit(3)
			return
		case m.Method == "thread/goal/set":
			f.goal(m)
		default:
			f.write(failed(m.ID, -32601, m.Method))
		}
	}
	if f.mode == "deaf" {
		<-time.After(time.Minute)
	}
}

func (f *fake) handshake(m message) {
	var p initializeParams
	if json.Unmarshal(m.Params, &p) != nil || !p.Capabilities.ExperimentalAPI || p.ClientInfo.Version != "1.2.3" {
		f.write(failed(m.ID, -32602, string(m.Params)))
		return
	}
	if f.mode == "noisy" {
		f.write("starting up\n\n")
		f.write(`{"id":"ask-1","method":"item/commandExecution/requestApproval","params":{}}` + "\n")
	}
	f.write(reply(m.ID, `{"userAgent":"fake"}`))
}

func (f *fake) features(m message) {
	var p featureParams
	_ = json.Unmarshal(m.Params, &p)
	page := ""
	if p.Cursor != nil {
		page = *p.Cursor
	}
	switch {
	case f.mode == "no-goals":
		f.write(reply(m.ID, `{"data":[{"name":"goals","enabled":false},{"name":"other","enabled":true}],"nextCursor":null}`))
	case f.mode == "endless", f.mode == "pages" && len(page) < 2:
		f.write(reply(m.ID, `{"data":[{"name":"other","enabled":true}],"nextCursor":"`+page+`x"}`))
	default:
		f.write(reply(m.ID, `{"data":[{"name":"goals","enabled":true}]}`))
	}
}

func (f *fake) goal(m message) {
	done := reply(m.ID, `{"goal":{"status":"active"}}`)
	started, completed := turn("turn/started", "T-1"), turn("turn/completed", "T-1")
	switch f.mode {
	case "one-write":
		f.write(done + started)
		f.write(completed)
	case "all-at-once":
		f.write(done + started + completed)
	case "early":
		f.write(started)
		f.write(done)
		f.write(completed)
	case "late":
		f.write(done)
		time.Sleep(4 * time.Second)
		f.write(started)
	case "elsewhere":
		f.write(turn("turn/started", "T-2") + done + turn("turn/completed", "T-2") + turn("turn/completed", "T-1"))
	case "error":
		f.write(failed(m.ID, -32000, "no such thread"))
	case "working", "deaf":
		f.write(done)
		f.write(started)
	default:
		f.write(done)
		f.write(started)
		f.write(completed)
	}
}

func (f *fake) write(s string) { _, _ = io.WriteString(f.out, s) }

func reply(id json.RawMessage, result string) string {
	return fmt.Sprintf(`{"id":%s,"result":%s}`+"\n", id, result)
}

func failed(id json.RawMessage, code int, why string) string {
	return fmt.Sprintf(`{"id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, strings.ReplaceAll(why, `"`, "'"))
}

func turn(method, thread string) string {
	return fmt.Sprintf(`{"method":%q,"params":{"threadId":%q,"turn":{"id":"turn-1"}}}`+"\n", method, thread)
}
