package ring

import (
	"math/bits"
	"sync/atomic"
)

const (
	firstChunk = 4 << 10   // a job that says little costs little
	fullChunk  = 64 << 10  // what chunks grow to
	floodChunk = 256 << 10 // what they grow to once a read has filled such a one
	minSpace   = 16 << 10  // a full chunk with less room is closed
	freeRoom   = 128 << 10 // of recycled chunks a stream holds ready, or one chunk

	// Index pages double: page k has room for 1<<(k+shift) entries, so the
	// table is a small fixed array and a short chunk has a short index.
	endShift   = 6
	endPages   = 10
	chunkLines = (1<<endPages - 1) << endShift // 65,472
	runShift   = 4
	runPages   = 8
	chunkRuns  = (1<<runPages - 1) << runShift // 4,080

	ownedByWriter = 1 << 30
)

// run describes consecutive lines of a chunk that have consecutive seqs, were
// read within a millisecond and ended the same way. A line that did not end
// with a newline is a run of its own.
type run struct {
	seq   uint64 // of its first line
	time  int64  // ns since 1970
	first uint32 // index of its first line in the chunk
	cuts  uint16 // lines before it in the chunk without a newline
	term  Term
}

// chunk is an append-only piece of a stream: bytes, where each line ends, and
// the runs that give lines their numbers. The writer fills all of it with plain
// stores and shows it through pub; what lies below pub is never written again
// while a reader may hold the chunk.
type chunk struct {
	id    uint64 // position in the stream
	first uint64 // stream index of its first line
	text  uint64 // bytes of text in the stream before it
	tight bool   // buf and indexes have no spare room
	buf   []byte
	ends  [endPages][]uint32 // offset behind each line's terminator
	runs  [runPages][]run

	_    [64]byte
	pub  atomic.Uint64 // runs<<32 | lines that readers may see
	fill atomic.Uint64 // bytes in buf, those waiting for a newline included
	_    [48]byte
	refs atomic.Int32 // readers in it; negative: the writer's alone
	_    [60]byte
}

func newChunk(size int) *chunk { return &chunk{buf: make([]byte, size)} }

// seen gives how many runs and lines of the chunk are published.
func (c *chunk) seen() (runs, lines int) {
	p := c.pub.Load()
	return int(p >> 32), int(uint32(p))
}

// place finds entry i of a doubling page table.
func place(i int, shift uint) (page, off int) {
	j := uint(i) + 1<<shift
	k := uint(bits.Len(j)) - 1
	return int(k - shift), int(j - 1<<k)
}

// end gives the offset behind line i.
func (c *chunk) end(i int) int {
	p, o := place(i, endShift)
	return int(c.ends[p][o])
}

// start gives the offset where line i begins.
func (c *chunk) start(i int) int {
	if i == 0 {
		return 0
	}
	return c.end(i - 1)
}

func (c *chunk) run(i int) *run {
	p, o := place(i, runShift)
	return &c.runs[p][o]
}

// endRoom gives the writer the index entries from line i to the end of its page.
func (c *chunk) endRoom(i int) []uint32 {
	p, o := place(i, endShift)
	if c.ends[p] == nil {
		c.ends[p] = make([]uint32, 1<<(uint(p)+endShift))
	}
	return c.ends[p][o:]
}

// addRun writes run i, which is not published yet.
func (c *chunk) addRun(i int, r run) {
	p, o := place(i, runShift)
	if c.runs[p] == nil {
		c.runs[p] = make([]run, 1<<(uint(p)+runShift))
	}
	c.runs[p][o] = r
}

// findRun gives the run that holds line i, of the first n runs.
func (c *chunk) findRun(i, n int) int {
	lo, hi := 0, n // run lo starts at or before i, run hi after it
	for hi-lo > 1 {
		if m := int(uint(lo+hi) >> 1); int(c.run(m).first) <= i {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// after gives the index of the first line numbered above seq, of the first n
// lines and runs; n lines if there is none.
func (c *chunk) after(seq uint64, runs, lines int) int {
	if runs == 0 || c.run(0).seq > seq {
		return 0
	}
	lo, hi := 0, runs // run lo starts at or below seq, run hi above it
	for hi-lo > 1 {
		if m := int(uint(lo+hi) >> 1); c.run(m).seq <= seq {
			lo = m
		} else {
			hi = m
		}
	}
	r, stop := c.run(lo), lines
	if lo+1 < runs {
		stop = min(stop, int(c.run(lo+1).first))
	}
	return int(min(uint64(r.first)+seq-r.seq+1, uint64(stop)))
}

// textBefore gives the bytes of text in the lines before line i, of the first n runs.
func (c *chunk) textBefore(i, runs int) uint64 {
	if i == 0 {
		return 0
	}
	return uint64(c.end(i-1) - i + c.run(c.findRun(i-1, runs)).through())
}

// through gives the lines without a newline up to the end of the run.
func (r *run) through() int {
	if r.term != Newline {
		return int(r.cuts) + 1
	}
	return int(r.cuts)
}

// keepFrom gives the lowest i of the first n lines such that the lines before i
// have at least need bytes of text; n if even all of them have fewer.
func (c *chunk) keepFrom(need uint64, runs, lines int) int {
	if need == 0 || runs == 0 {
		return 0
	}
	lo, hi := 0, runs // fewer than need bytes before run lo
	for hi-lo > 1 {
		m := int(uint(lo+hi) >> 1)
		if r := c.run(m); uint64(c.end(int(r.first)-1)-int(r.first)+int(r.cuts)) < need {
			lo = m
		} else {
			hi = m
		}
	}
	r, last := c.run(lo), lines
	if hi < runs {
		last = int(c.run(hi).first)
	}
	i, j := int(r.first), last+1 // fewer than need bytes before i
	for j-i > 1 {
		if m := int(uint(i+j) >> 1); uint64(c.end(m-1)-m+r.through()) < need {
			i = m
		} else {
			j = m
		}
	}
	return min(j, lines)
}

// enter takes a reference for a reader; false means the chunk is not, or no
// longer, the one called id.
func (c *chunk) enter(id uint64) bool {
	if c.refs.Add(1) > 0 && c.id == id {
		return true
	}
	c.refs.Add(-1)
	return false
}

func (c *chunk) leave() { c.refs.Add(-1) }

// seize makes the chunk the writer's alone unless a reader is in it.
func (c *chunk) seize() bool { return c.refs.CompareAndSwap(0, -ownedByWriter) }

// open lets readers in again. The count is added, never stored: a reader that
// found the chunk seized may still have its 1 in it.
func (c *chunk) open() {
	if c.refs.Load() < 0 {
		c.refs.Add(ownedByWriter)
	}
}
