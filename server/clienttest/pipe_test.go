package clienttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
)

const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// object is a JSON object of which only some members matter.
type object map[string]json.RawMessage

// objectOf decodes what may be absent or no object; then it is empty.
func objectOf(b []byte) object {
	o := object{}
	if json.Unmarshal(b, &o) != nil || o == nil {
		return object{}
	}
	return o
}

func (o object) encode() json.RawMessage {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

// within changes a member of the object at path, if that object has it.
func (o object) within(path []string, member string, change func(old json.RawMessage) json.RawMessage) {
	if len(path) == 0 {
		if old, ok := o[member]; ok {
			o[member] = change(old)
		}
		return
	}
	if _, ok := o[path[0]]; ok {
		inner := objectOf(o[path[0]])
		inner.within(path[1:], member, change)
		o[path[0]] = inner.encode()
	}
}

func (o object) at(path ...string) json.RawMessage {
	for _, p := range path[:len(path)-1] {
		o = objectOf(o[p])
	}
	return o[path[len(path)-1]]
}

func to(v json.RawMessage) func(json.RawMessage) json.RawMessage {
	return func(json.RawMessage) json.RawMessage { return v }
}

// pipe is a server on stdio that many HTTP clients share. They choose ids and
// progress tokens each for themselves; on the pipe a request has an id of the
// pipe's own, and its token is that id too.
type pipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu        sync.Mutex
	last      int
	exchanges map[string]*exchange // by the id on the pipe
	unasked   map[chan []byte]bool
	read      chan struct{} // closed when the server's stdout has ended
}

// exchange is a request and what comes for it: notes, and then the reply.
type exchange struct {
	wire, id, token json.RawMessage
	notes           chan []byte
	done            chan struct{} // closed with the reply, or without one
	reply           []byte
}

// backlog is how many notifications may wait for one HTTP client.
const backlog = 1024

// openPipe starts a server, whose complaints go to faults.
func openPipe(server string, faults io.Writer) (*pipe, error) {
	cmd := exec.Command(server)
	cmd.Stderr = faults
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &pipe{cmd: cmd, in: in, read: make(chan struct{}),
		exchanges: map[string]*exchange{}, unasked: map[chan []byte]bool{}}
	go p.readAll(out)
	return p, nil
}

// close ends the server's input and waits for its end.
func (p *pipe) close() error {
	p.in.Close()
	<-p.read
	return p.cmd.Wait()
}

func (p *pipe) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var one bytes.Buffer
	if json.Compact(&one, b) != nil {
		return // read before
	}
	one.WriteByte('\n')
	_, _ = p.in.Write(one.Bytes()) // a server that is gone shows as no reply
}

// ask sends a request.
func (p *pipe) ask(body []byte) *exchange {
	o := objectOf(body)
	x := &exchange{
		id:    o["id"],
		token: o.at("params", "_meta", "progressToken"),
		notes: make(chan []byte, backlog),
		done:  make(chan struct{}),
	}
	p.mu.Lock()
	p.last++
	x.wire = json.RawMessage(strconv.Quote(fmt.Sprintf("http-%d", p.last)))
	p.exchanges[string(x.wire)] = x
	p.mu.Unlock()
	o["id"] = x.wire
	o.within([]string{"params", "_meta"}, "progressToken", to(x.wire))
	p.write(o.encode())
	return x
}

// cancel takes a request back whose client has gone.
func (p *pipe) cancel(x *exchange) {
	p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, x.wire))
	p.mu.Lock()
	delete(p.exchanges, string(x.wire))
	p.mu.Unlock()
}

// listen gives what belongs to no request, until forget.
func (p *pipe) listen() chan []byte {
	c := make(chan []byte, backlog)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unasked[c] = true
	return c
}

func (p *pipe) forget(c chan []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.unasked, c)
}

func (p *pipe) readAll(out io.Reader) {
	defer close(p.read)
	r := bufio.NewReader(out)
	for {
		l, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		p.route(objectOf(l))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.exchanges {
		close(x.done)
	}
	clear(p.exchanges)
}

// route gives one message of the server to whom it belongs.
func (p *pipe) route(o object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o["method"] == nil {
		x := p.exchanges[string(o["id"])]
		if x == nil {
			return // cancelled
		}
		delete(p.exchanges, string(x.wire))
		o["id"] = x.id
		o.within([]string{"result", "_meta"}, subscriptionID, to(x.id))
		x.reply = o.encode()
		close(x.done)
		return
	}
	if x := p.exchanges[string(o.at("params", "_meta", subscriptionID))]; x != nil {
		o.within([]string{"params", "_meta"}, subscriptionID, to(x.id))
		offer(x.notes, o)
		return
	}
	if x := p.exchanges[string(o.at("params", "progressToken"))]; x != nil {
		o.within([]string{"params"}, "progressToken", to(x.token))
		offer(x.notes, o)
		return
	}
	for c := range p.unasked {
		offer(c, o)
	}
}

func offer(c chan []byte, o object) {
	select {
	case c <- o.encode():
	default: // a client that does not read loses what it would have read
	}
}
