package ring

import (
	"sync"
	"sync/atomic"
)

// idle is the in-flight bound of a stream that is not numbering lines.
const idle = ^uint64(0)

// Stream is the writer's side of one stream. One goroutine writes: it asks for
// Space, reads into it and Commits what came. What Space gave is void after any
// other call of the writer's side. Only Reclaim may come from any goroutine, at
// any time.
type Stream struct {
	job *Job

	// mu makes Reclaim wait for the end of a call of the writer's side. No
	// reader ever takes it.
	mu      sync.Mutex
	cur     *chunk // the chunk being filled; nil before the first Space and after Reclaim
	n       int    // lines in cur that are indexed
	pub     int    // lines in cur that are published
	runs    int    // runs in cur
	last    run    // the newest run of cur
	cuts    int    // lines in cur without a newline
	start   int    // offset in cur behind the newest line
	fill    int    // bytes in cur
	lent    int    // bytes that the last Space gave
	mean    int    // mean line length of the last batch
	size    int    // what chunks grow to, and the only size that is recycled
	gone    bool   // reclaimed
	scratch []byte // what a reclaimed stream reads into
	win     window

	_        [64]byte
	table    atomic.Pointer[table] // the window's chunks; nil when there is nothing to read
	head     atomic.Uint64         // lines and lines kept, packed: see packHead
	lines    atomic.Uint64         // lines published
	lastSeq  atomic.Uint64         // seq of the newest line
	inflight atomic.Uint64         // lowest seq that a batch being published can have, or idle
	bytes    atomic.Uint64         // bytes committed
	waiting  atomic.Uint64         // bytes waiting for a newline
	lost     atomic.Uint64         // losses that are not lines
	_        [64]byte
}

// Space gives the bytes to read into next, at least min(16 KiB, half of the
// chunk being filled): 2 KiB or more.
func (s *Stream) Space() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		if s.scratch == nil {
			s.scratch = make([]byte, firstChunk)
		}
		s.lent = len(s.scratch)
		return s.scratch
	}
	switch {
	case s.cur == nil:
		s.begin()
	case s.cur.tight, len(s.cur.buf)-s.fill < min(minSpace, len(s.cur.buf)/2):
		s.roll()
	}
	b := s.cur.buf[s.fill:]
	s.lent = len(b)
	return b
}

// Commit takes the first n bytes of the last Space: splits them into lines,
// numbers and publishes these, evicts what no longer fits the limits and wakes
// waiters if there was a line. It panics if the last Space did not give n bytes.
func (s *Stream) Commit(n int) {
	s.mu.Lock()
	if n < 0 || n > s.lent {
		s.mu.Unlock()
		panic("ring: Commit of more than Space gave")
	}
	full := n == s.lent && n >= minSpace
	s.lent = 0
	if n == 0 {
		s.mu.Unlock()
		return
	}
	s.bytes.Add(uint64(n))
	if s.gone {
		s.lost.Add(1)
		s.mu.Unlock()
		return
	}
	if full && s.size == fullChunk && len(s.cur.buf) == fullChunk {
		// The writer is ahead of the reader, who should take more at a time.
		s.size, s.win.free = floodChunk, nil
	}
	before := s.win.lines
	s.ingest(n)
	s.waiting.Store(uint64(s.fill - s.start))
	fresh := s.win.lines != before
	s.mu.Unlock()
	if fresh {
		// The counter of both streams: a reader of both may have been kept from
		// lines of the other by the batch that is published now.
		s.job.bell.wakeAt(s.job.seq.Load())
	}
}

// Finish makes a line with Term End of the text that waits for its newline. It
// is idempotent. A later Commit starts a new line.
func (s *Stream) Finish() { s.finish(End) }

func (s *Stream) finish(term Term) {
	s.mu.Lock()
	s.lent, s.scratch = 0, nil
	if !s.gone && s.fill > s.start {
		if s.full() || s.cur.tight {
			s.roll()
		}
		s.cut(s.fill, term, s.job.now())
		s.waiting.Store(0)
	}
	s.mu.Unlock()
	s.job.bell.wake()
}

// Reclaim drops all text of the stream, and counts text that waits for its
// newline as one loss. Each later Commit counts as one loss more. It may be
// called from any goroutine, is idempotent and waits at most for the end of a
// Commit that is being done.
func (s *Stream) Reclaim() {
	s.mu.Lock()
	if !s.gone {
		s.gone = true
		if s.fill > s.start {
			s.lost.Add(1)
		}
		s.waiting.Store(0)
		s.head.Store(packHead(s.win.lines, 0))
		s.table.Store(nil)
		s.cur, s.n, s.pub, s.start, s.fill = nil, 0, 0, 0, 0
		s.win = window{lines: s.win.lines}
	}
	s.mu.Unlock()
	s.job.bell.wake()
}

// Shrink gives back the memory that only further writing would use. It is worth
// its copy of the last chunk once, after the last Commit and Finish.
func (s *Stream) Shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = 0
	if s.cur == nil {
		return
	}
	s.win.free = nil
	if s.win.lines == 0 && s.fill == 0 {
		// Nothing was ever said: the next Space begins anew.
		s.table.Store(nil)
		s.cur, s.win = nil, window{}
		return
	}
	c := s.cur.exact(s.fill, s.n, s.runs)
	s.table.Load().at(c.id).Store(c)
	s.cur = c
}

// ingest indexes and publishes the lines of the n bytes behind fill.
func (s *Stream) ingest(n int) {
	pos, count, now := s.fill, s.win.lines, int64(0)
	s.fill += n
	s.cur.fill.Store(uint64(s.fill))
	single := n > s.job.limits.MaxLine
	for pos < s.fill {
		if s.full() {
			moved := s.start
			s.publish(Newline, 0, &now)
			s.roll()
			pos -= moved
		}
		out := s.cur.endRoom(s.n)
		if single {
			out = out[:1] // any line of this batch may be too long
		}
		k := split(s.cur.buf[:s.fill], pos, out, s.mean)
		end := s.fill
		if k > 0 {
			end = int(out[0]) - 1
		}
		if over := s.job.limits.MaxLine; end-s.start > over {
			if s.n > s.pub {
				s.publish(Newline, 0, &now)
				continue // there may be no run left for the piece
			}
			at := s.start + cutAt(s.cur.buf[s.start:s.fill], over)
			s.stamp(&now)
			s.cut(at, Split, now)
			pos = max(pos, at)
			continue
		}
		if k == 0 {
			break
		}
		s.n += k
		s.start = int(out[k-1])
		pos = s.start
	}
	if s.n > s.pub {
		s.publish(Newline, s.fill-s.start, &now)
	} else {
		s.advance(false, s.fill-s.start)
		s.evict()
	}
	s.mean = n / int(max(s.win.lines-count, 1))
}

// full tells that the chunk takes no more lines.
func (s *Stream) full() bool { return s.n == chunkLines || s.runs == chunkRuns }

// stamp takes the time of a batch once.
func (s *Stream) stamp(now *int64) {
	if *now == 0 {
		*now = s.job.now()
	}
}

// cut makes a line of its own of the bytes up to at, all earlier ones being published.
func (s *Stream) cut(at int, term Term, now int64) {
	s.cur.endRoom(s.n)[0] = uint32(at)
	s.n++
	s.cuts++
	s.start = at
	s.publish(term, 0, &now)
}

// publish numbers the indexed lines that are not published yet and shows them;
// waiting bytes are known to be without a newline. The order of the stores is
// what readers rely on: see the package comment.
func (s *Stream) publish(term Term, waiting int, now *int64) {
	n := s.n - s.pub
	if n == 0 {
		return
	}
	s.stamp(now)
	seq := &s.job.seq
	s.inflight.Store(seq.Load() + 1)
	top := seq.Add(uint64(n))
	s.addRun(run{seq: top - uint64(n) + 1, time: *now, first: uint32(s.pub), term: term})
	s.pub = s.n
	s.win.lines += uint64(n)
	s.advance(true, waiting)
	s.cur.pub.Store(uint64(s.runs)<<32 | uint64(s.n))
	s.lines.Store(s.win.lines)
	s.lastSeq.Store(top)
	s.inflight.Store(idle)
	s.evict()
}

// joinWithin is how far apart, in ns, lines may be read and still show one time.
const joinWithin = 1_000_000

// addRun notes a batch of lines, as part of the newest run if it goes on from it.
func (s *Stream) addRun(r run) {
	if l := &s.last; s.runs > 0 && l.term == Newline && r.term == Newline &&
		l.seq+uint64(r.first-l.first) == r.seq && r.time >= l.time && r.time-l.time < joinWithin {
		return
	}
	r.cuts = uint16(s.cuts)
	if r.term != Newline {
		r.cuts--
	}
	s.cur.addRun(s.runs, r)
	s.runs++
	s.last = r
}
