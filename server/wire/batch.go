package wire

import "sync"

// batchVersion is the one revision that has batches.
const batchVersion = "2025-03-26"

// batch collects the replies to one JSON array of requests, which go out as
// one array when the last of them is settled.
type batch struct {
	mu   sync.Mutex
	open int // requests unsettled, and one for the reading of the array itself
	line *[]byte
	ids  map[string]bool // ids seen; for the reading goroutine only
}

// done settles one request; line is its reply, nil for none.
func (t *batch) done(c *Conn, line *[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line != nil {
		if t.line == nil {
			t.line = newBuffer()
			*t.line = append(*t.line, '[')
		} else {
			*t.line = append(*t.line, ',')
		}
		*t.line = append(*t.line, (*line)[:len(*line)-1]...)
		release(line)
	}
	if t.open--; t.open == 0 && t.line != nil {
		*t.line = append(*t.line, "]\n"...)
		c.out.put(t.line)
	}
}

// expect announces a reply, or a done without one.
func (t *batch) expect() {
	t.mu.Lock()
	t.open++
	t.mu.Unlock()
}

// readBatch serves a line that is an array.
func (c *Conn) readBatch(v []byte) {
	if c.version != batchVersion {
		c.refuse(CodeInvalidRequest, "Invalid Request: no batches in this revision", nil)
		return
	}
	e := array(v)
	if !e.next() {
		c.refuse(CodeInvalidRequest, "Invalid Request: empty batch", nil)
		return
	}
	t := &batch{open: 1, ids: map[string]bool{}}
	for more := true; more; more = e.next() {
		c.message(e.val, t)
	}
	t.done(c, nil)
}
