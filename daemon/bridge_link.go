package daemon

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
)

// daemon gives the connection there is, or makes one. The caller holds wmu.
func (b *bridge) daemon() (*uplink, error) {
	b.mu.Lock()
	up := b.up
	b.mu.Unlock()
	if up != nil {
		return up, nil
	}
	l, err := b.d.attach(b.ctx, b.who(), b.mayStart)
	if err != nil {
		if errors.Is(err, errNobody) || errors.Is(err, ErrDraining) {
			err = ErrNotRunning
		}
		return nil, err
	}
	return b.use(l), nil
}

// use makes l the connection, and brings the daemon to where the client is.
func (b *bridge) use(l *link) *uplink {
	up := &uplink{link: l, over: make(chan struct{})}
	b.mu.Lock()
	b.up = up
	replay := b.replayLocked()
	b.mu.Unlock()
	if !l.hello.can(CapStream) {
		up.post, replay = b.d.httpClient(), nil
	}
	go b.receive(up)
	for _, f := range replay {
		if !b.put(up, f) {
			break // the next use does it again
		}
	}
	return up
}

// replayLocked is the opening exchange once more, under an id of our own, when
// the client has had it with another daemon.
func (b *bridge) replayLocked() []*flight {
	if b.opening == nil || !b.opened {
		return nil
	}
	b.resumes++
	id := "belfry-resume-" + strconv.Itoa(b.resumes)
	line, err := withID(b.opening, id)
	if err != nil {
		return nil // what was answered can be parsed
	}
	out := []*flight{{line: line, swallow: true, owed: map[string]bool{strconv.Quote(id): true}}}
	if b.ready != nil {
		out = append(out, &flight{line: b.ready})
	}
	return out
}

// receive carries what the daemon says until the connection ends.
func (b *bridge) receive(up *uplink) {
	taken := -1 // how many of our lines it took, when it said so
	r := bufio.NewReaderSize(up.link.r, 64<<10)
	for {
		line, _, err := nextLine(r, math.MaxInt)
		if err != nil {
			break // an unfinished line is nobody's
		}
		if len(line) > 0 && line[0] == ownLine {
			if n, ok := bytes.CutPrefix(line, []byte(byeLine)); ok {
				if n, err := strconv.Atoi(string(n)); err == nil {
					taken = n
				}
			}
			break
		}
		if b.pass(line) {
			b.write(append(line, '\n'))
		}
	}
	b.lost(up, taken)
}

// pass notes a line of the daemon's and says whether the client should see it.
func (b *bridge) pass(line []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id := acknowledges(line); id != "" {
		if f := b.flights[id]; f != nil && f.again {
			f.again = false
			return false
		}
		return true
	}
	for _, id := range replyTo(line) {
		f := b.flights[id]
		if f == nil {
			continue
		}
		delete(b.flights, id)
		delete(f.owed, id)
		b.settled.Broadcast()
		if len(f.all) == 1 && f.all[0].method == "initialize" {
			b.opened = true
		}
		if f.swallow {
			return false
		}
	}
	return true
}

// lost settles what a connection that is over still owes: lines that the daemon
// did not take are sent again, and so is what may be done twice; the rest is
// answered, for nobody knows what became of it.
func (b *bridge) lost(up *uplink, taken int) {
	up.link.Close()
	if up.post != nil {
		up.post.CloseIdleConnections()
	}
	b.mu.Lock()
	if b.up == up {
		b.up = nil
	}
	var open []*flight
	for id, f := range b.flights {
		if f.seq > 0 && !slices.Contains(open, f) {
			open = append(open, f)
		}
		delete(b.flights, id)
	}
	slices.SortFunc(open, func(x, y *flight) int { return cmp.Compare(x.seq, y.seq) })
	var again, unknown []*flight
	for _, f := range open {
		switch {
		case f.swallow:
		case f.listen:
			f.again, f.seq = true, 0
			again = append(again, f)
		case taken >= 0 && f.seq > taken, b.repeatable(f):
			f.seq = 0
			again = append(again, f)
		default:
			unknown = append(unknown, f)
		}
	}
	// A listen alone revives nobody; it waits for the next message.
	wanted := slices.ContainsFunc(again, func(f *flight) bool { return !f.listen })
	b.backlog = append(again, b.backlog...)
	closed := b.closed
	b.settled.Broadcast()
	b.mu.Unlock()
	for _, f := range unknown {
		b.answer(f, codeUnknown, "outcome unknown: the daemon ended while it had this request", up.link.hello.Generation)
	}
	close(up.over)
	if wanted && !closed {
		go b.flush()
	}
}

// repeatable reports whether every request of a line may be done twice.
func (b *bridge) repeatable(f *flight) bool {
	for _, m := range f.all {
		if m.request() && !b.opts.Resend(m.method, m.name) {
			return false
		}
	}
	return len(f.all) > 0
}
