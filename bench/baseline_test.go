package bench

import (
	"bytes"
	"context"
	"sync"
)

// baseline is what one would write first: a mutex around a slice of strings with
// the limits of the ring. Benchmarks and gates measure against it in the same run:
// with the lock taken once a batch, and once a line.
type baseline struct {
	buf []byte // what its one writer reads into

	mu      sync.Mutex
	lines   []string
	first   int // index of lines[0] in the stream
	bytes   int
	pending []byte
	wake    chan struct{} // nil while nobody waits
}

const (
	keepLines = 10_000
	keepBytes = 1 << 20
	readBytes = 64 << 10
)

func newBaseline() *baseline { return &baseline{buf: make([]byte, readBytes)} }

// space gives the bytes to read into next.
func (b *baseline) space() []byte { return b.buf }

// take takes in the first n bytes of space: splits them into lines, appends,
// evicts and wakes.
func (b *baseline) take(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.buf[:n]
	for k := bytes.IndexByte(p, '\n'); k >= 0; k = bytes.IndexByte(p, '\n') {
		b.add(p[:k])
		p = p[k+1:]
	}
	b.pending = append(b.pending, p...)
	b.changedNow()
}

// takeLines is take with the lock taken for each line.
func (b *baseline) takeLines(n int) {
	p := b.buf[:n]
	for k := bytes.IndexByte(p, '\n'); k >= 0; k = bytes.IndexByte(p, '\n') {
		b.mu.Lock()
		b.add(p[:k])
		b.changedNow()
		b.mu.Unlock()
		p = p[k+1:]
	}
	if len(p) > 0 {
		b.mu.Lock()
		b.pending = append(b.pending, p...)
		b.mu.Unlock()
	}
}

// add appends a line and evicts. b.mu is held.
func (b *baseline) add(p []byte) {
	line := string(p)
	if len(b.pending) > 0 {
		line = string(b.pending) + line
		b.pending = b.pending[:0]
	}
	b.lines = append(b.lines, line)
	b.bytes += len(line)
	for len(b.lines) > 1 && (len(b.lines) > keepLines || b.bytes > keepBytes) {
		b.bytes -= len(b.lines[0])
		b.lines[0] = ""
		b.lines = b.lines[1:]
		b.first++
	}
}

// changedNow wakes whoever waits. b.mu is held.
func (b *baseline) changedNow() {
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}

// taken gives how many lines it ever took in.
func (b *baseline) taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first + len(b.lines)
}

// after copies up to limit lines from stream index cur; next is the index to go on from.
func (b *baseline) after(cur, limit int) (lines []string, next int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := max(cur-b.first, 0)
	to := min(at+limit, len(b.lines))
	if at >= to {
		return nil, b.first + len(b.lines)
	}
	return append([]string(nil), b.lines[at:to]...), b.first + to
}

// tail copies the newest n lines.
func (b *baseline) tail(n int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.lines[max(len(b.lines)-n, 0):]...)
}

// changed gives a channel that the next take closes.
func (b *baseline) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wake == nil {
		b.wake = make(chan struct{})
	}
	return b.wake
}

// follow reads to the newest line again and again until ctx ends.
func (b *baseline) follow(ctx context.Context) {
	for cur := 0; ctx.Err() == nil; {
		changed := b.changed()
		if lines, next := b.after(cur, 200); len(lines) > 0 {
			cur = next
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
