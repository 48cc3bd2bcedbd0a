package job

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// A writer that writes a line at a time is read in batches instead of once a
// line: after a short read that followed another one closely the pump leaves the
// poller and naps between reads that do not wait, until the writer has paused.
// The first line after a pause is never delayed, nor what follows the short end
// of a large piece: that writer is at work, and would soon wait.
//
// A batch comes after what the other stream said meanwhile. So the pump does not
// nap while the other stream speaks, unless lines come so fast that their order is
// lost anyway; and when the other one breaks its silence, its pump has this one read
// first what was written before.
//
// The runtime's timers are as coarse as 1 ms where nothing else wakes it, so the
// naps are a little over 1 ms long, and 2 ms in a burst that goes on.
const (
	napBelow  = 4 << 10
	napAfter  = time.Millisecond
	shortNap  = 200 * time.Microsecond
	longNap   = 1600 * time.Microsecond
	emptyNaps = 4 // in a row are a pause
	silence   = 10 * time.Millisecond
	flood     = 50 * time.Microsecond // between two reads
)

// A read of so many bytes shows a writer that waits for its reader: its pipe is
// made larger, so that they take turns less often. A job that says little has the
// system's pipe and costs no call for it.
// Most of all, it lets much be read at a time: each read of a full pipe wakes the
// writer, and where many write at once that is a change of programs on a processor
// for each. Those that flood together have pipes of one size, so that they get on
// alike.
const (
	growFrom   = 32 << 10
	leastPipe  = 16 << 10 // what every system's pipe holds
	pipeSize   = 256 << 10
	floodPipe  = 512 << 10
	widePipe   = 1 << 20
	widePipes  = 1  // the first of a store that floods
	floodPipes = 64 // these, too: an unprivileged user has 64 MiB of pipes on Linux
)

// sink is where a pump puts what it reads: a ring stream, or a tap. All but
// Shrink belongs to the pump's goroutine.
type sink interface {
	Space() []byte // room for the next read
	Commit(n int)  // so many bytes of it were read
	Finish()       // nothing follows
	Shrink()
}

// pump moves one pipe into one sink, in one goroutine.
type pump struct {
	r        *sys.PipeReader
	s        sink
	floods   *atomic.Int32 // how many pumps of the store have had a large read
	asked    int           // bytes that the pipe was asked to hold
	room     int           // bytes that it holds, as far as known
	flood    bool          // counted there
	turn     int           // bytes since it last let others have the processor
	short    time.Time     // when the last read ended, if it was short
	timer    *time.Timer   // of naps; nil before the first
	other    *pump         // of the job's other stream; nil if there is none
	spoke    atomic.Int64  // when it last read something, ns since 1970
	waits    bool          // it has the other one read first
	asleep   atomic.Bool
	poke     chan chan<- struct{} // has a napping pump read, which then closes what it got
	moved    atomic.Int64         // bytes committed
	draining atomic.Bool
	rush     chan struct{} // closed when the drain begins
	floor    atomic.Int64  // bytes that were waiting when the drain began
	bounded  chan struct{} // closed when a drain gave up on a held pipe
	eof      chan struct{} // closed when the pump is over
}

func (s *Store) newPump(r *sys.PipeReader, to sink) *pump {
	return &pump{r: r, s: to, room: leastPipe, floods: &s.floods, poke: make(chan chan<- struct{}), rush: make(chan struct{}), bounded: make(chan struct{}), eof: make(chan struct{})}
}

// run reads until the last writer closed the pipe, or until close.
func (p *pump) run() {
	defer p.over()
	defer p.s.Finish()
	for {
		b := p.s.Space()
		n, err := p.r.Read(b)
		if n > 0 {
			p.spoke.Store(time.Now().UnixNano())
			p.hearOther()
			p.commit(n)
		}
		if err == nil {
			err = p.rest(n, n == len(b))
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && p.draining.CompareAndSwap(true, false):
			if !p.drainOut() {
				p.s.Finish() // what a stranger writes later begins a new line
				close(p.bounded)
				_ = p.r.SetReadDeadline(time.Time{})
				continue
			}
			return
		default:
			return // io.EOF, or closed by us
		}
	}
}

func (p *pump) commit(n int) {
	p.s.Commit(n)
	p.moved.Add(int64(n))
}

// rest suits the pace to a read of n bytes, for which there was room for no more
// if it was full. The error is that of a further read.
func (p *pump) rest(n int, full bool) error {
	if n >= growFrom && !p.flood {
		p.flood = true
		switch nth := p.floods.Add(1); {
		case nth <= widePipes:
			p.grow(widePipe)
		case nth <= floodPipes:
			p.grow(floodPipe)
		default:
			p.grow(pipeSize)
		}
	}
	// A writer that is as fast as we are would keep the others waiting until the
	// runtime takes the processor away, after 10 ms.
	if p.turn += n; p.turn >= pipeSize {
		p.turn = 0
		runtime.Gosched()
	}
	if p.hurried(n, full, time.Now()) && !closed(p.rush) {
		return p.burst()
	}
	return nil
}

// hurried tells that the read that ended now is one of many short ones.
func (p *pump) hurried(n int, full bool, now time.Time) bool {
	was := p.short
	if n >= napBelow || full {
		p.short = time.Time{}
		return false
	}
	p.short = now
	if was.IsZero() || now.Sub(was) >= napAfter {
		return false
	}
	return now.Sub(was) < flood || p.other == nil ||
		time.Duration(now.UnixNano()-p.other.spoke.Load()) > silence
}

// pair tells the pumps of a job of each other. They wait for each other, too, if
// no sink of theirs can make one wait for a reader.
func pair(pumps []*pump, wait bool) {
	if len(pumps) == 2 {
		a, b := pumps[0], pumps[1]
		a.other, b.other = b, a
		a.waits, b.waits = wait, wait
	}
}

// hearOther has the other pump, if it naps, take what was written before.
func (p *pump) hearOther() {
	o := p.other
	if o == nil || !p.waits || !o.asleep.Load() {
		return
	}
	taken := make(chan struct{})
	select {
	case o.poke <- taken:
		<-taken
	default: // it is awake and reading
	}
}

// burst reads in batches what comes in small pieces, until there is a pause, so
// much that the writer may have to wait, or the drain.
func (p *pump) burst() error {
	// In the poller every write would wake it, reader asleep or not. Best effort:
	// there it costs more, nothing else.
	_ = p.r.Quiet()
	p.grow(pipeSize)
	for nap, empty := shortNap, 0; empty < emptyNaps; nap = min(2*nap, longNap) {
		asked := p.nap(nap)
		got, err := p.take()
		if asked != nil {
			close(asked)
			if err == nil {
				return nil // both streams speak
			}
		}
		switch {
		case got >= p.room/2:
			// The pipe may have been full: a write that does not fit beside the one
			// before takes a new page, so half of each may be empty.
			return err
		case got > 0:
			empty = 0
		default:
			empty++
		}
		if err != nil {
			return err
		}
		if closed(p.rush) {
			return nil
		}
	}
	p.short = time.Time{}
	return nil
}

// take reads what is there and does not wait. A read of a page or less may leave
// something: of a pipe in packet mode (O_DIRECT) each gives one write. After more
// there is only what was written since, which is better read with what follows.
func (p *pump) take() (got int, err error) {
	for {
		b := p.s.Space()
		n, err := p.r.ReadNow(b)
		if n > 0 {
			p.spoke.Store(time.Now().UnixNano())
			p.commit(n)
			got += n
		}
		if errors.Is(err, sys.ErrWouldBlock) || err == nil && n < len(b) && n > napBelow {
			return got, nil
		}
		if err != nil || got >= p.room {
			return got, err
		}
	}
}

// nap waits a moment, or until the drain begins, or until the other pump asks for
// what is there: then it gives what to close when that is taken.
func (p *pump) nap(d time.Duration) (asked chan<- struct{}) {
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	p.asleep.Store(true)
	defer p.asleep.Store(false)
	select {
	case <-p.timer.C:
	case <-p.rush:
	case asked = <-p.poke:
	}
	return asked
}

// grow makes the pipe larger. Best effort: a smaller one is slower, nothing else. It
// may be far smaller than usual: one page or two, once its user has many.
func (p *pump) grow(size int) {
	if p.asked >= size {
		return
	}
	p.asked = size
	if n, _ := p.r.Grow(size); n > 0 { // Best effort, as above.
		p.room = n
	}
}

// drain tells the pump that the tree is over: read what is there to the last
// byte, and do not wait long for a stranger that holds the pipe.
func (p *pump) drain() {
	if n, err := p.r.Buffered(); err == nil {
		p.floor.Store(int64(n))
	}
	p.draining.Store(true)
	close(p.rush)
	_ = p.r.SetReadDeadline(time.Unix(1, 0))
}

// drainOut reads to the end of the pipe; false means that somebody outside the
// tree keeps it open. An expired deadline returns without reading although
// bytes wait, so every expiry is followed by reads that never wait.
func (p *pump) drainOut() (ended bool) {
	start := time.Now()
	last := start
	var got int64
	for {
		for {
			n, err := p.r.ReadNow(p.s.Space())
			if n > 0 {
				p.commit(n)
				got += int64(n)
				last = time.Now()
			}
			if errors.Is(err, sys.ErrWouldBlock) {
				break
			}
			if err != nil {
				return true
			}
			if got >= p.floor.Load() && time.Since(start) > drainBound {
				return false
			}
		}
		until := last.Add(drainIdle)
		if end := start.Add(drainBound); until.After(end) {
			until = end
		}
		if !time.Now().Before(until) {
			return false
		}
		_ = p.r.SetReadDeadline(until)
		n, err := p.r.Read(p.s.Space())
		if n > 0 {
			p.commit(n)
			got += int64(n)
			last = time.Now()
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
	}
}

// close ends the pump whoever holds the pipe.
func (p *pump) close() { _ = p.r.Close() }

// over gives back what the pump had, once, from its goroutine.
func (p *pump) over() {
	p.close()
	if p.flood {
		p.floods.Add(-1)
	}
	close(p.eof)
}
