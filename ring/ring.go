package ring

import "strconv"

// Kind names one of the two output streams of a job.
type Kind uint8

// The two streams.
const (
	Stdout Kind = iota
	Stderr
)

// String gives "stdout" or "stderr".
func (k Kind) String() string {
	switch k {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Sel gives the selection that holds this stream alone.
func (k Kind) Sel() Sel { return 1 << k }

// Sel is a set of streams to read from. A cursor belongs to the selection it
// was got with.
type Sel uint8

// The selections.
const (
	SelStdout Sel = 1 << Stdout
	SelStderr Sel = 1 << Stderr
	SelBoth   Sel = SelStdout | SelStderr
)

func (s Sel) has(k Kind) bool { return s&k.Sel() != 0 }

// Term tells what ended a line.
type Term uint8

const (
	// Newline: the line ended with LF or CRLF.
	Newline Term = iota
	// Split: the line grew longer than Limits.MaxLine and was cut; the next
	// line of the same stream goes on where it stopped.
	Split
	// End: the stream ended without a newline.
	End
)

// String gives "newline", "split" or "end".
func (t Term) String() string {
	switch t {
	case Newline:
		return "newline"
	case Split:
		return "split"
	case End:
		return "end"
	}
	return "term(" + strconv.Itoa(int(t)) + ")"
}

// Limits bounds what one stream keeps. A zero or negative field takes the value
// of DefaultLimits; a field out of its range takes the nearest end of it.
type Limits struct {
	// Lines is the most lines kept, 1 to 1,000,000.
	Lines int
	// Bytes is the most bytes of text kept, 1 to 1 GiB: terminators do not
	// count, a CR before LF and text that waits for its newline do. The newest
	// line is kept whatever its size.
	Bytes int64
	// MaxLine is the most bytes of one line, 4 to 256 MiB. A longer one is cut
	// into pieces of exactly MaxLine bytes, or up to 3 fewer where a UTF-8
	// character would be cut.
	MaxLine int
}

// DefaultLimits is what NewJob puts in the place of absent limits.
var DefaultLimits = Limits{Lines: 10_000, Bytes: 1 << 20, MaxLine: 1 << 20}

// The ends of the ranges of Limits.
const (
	maxLines   = 1_000_000
	maxBytes   = 1 << 30
	minMaxLine = 4
	maxMaxLine = 1 << 28
)

// normal gives l with defaults filled in and every field inside its range.
func (l Limits) normal() Limits {
	if l.Lines <= 0 {
		l.Lines = DefaultLimits.Lines
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.MaxLine <= 0 {
		l.MaxLine = DefaultLimits.MaxLine
	}
	l.Lines = min(l.Lines, maxLines)
	l.Bytes = min(l.Bytes, maxBytes)
	l.MaxLine = min(max(l.MaxLine, minMaxLine), maxMaxLine)
	return l
}

// Line is one line of output.
type Line struct {
	// Seq is the line's number in its job, from 1, without gaps over both streams.
	Seq  uint64
	Kind Kind
	Term Term
	// TimeNS is when the line was read, in nanoseconds since 1970, at most
	// 1 ms early.
	TimeNS int64
	// Text is valid UTF-8 without the terminator and without one CR before LF.
	// Each maximal ill-formed sequence (WHATWG, Unicode 15 section 3.9) is
	// one U+FFFD.
	Text string
}

// Loss tells what one stream no longer has.
type Loss struct {
	// Dropped counts the lines evicted, one more for waiting text thrown away
	// by Reclaim, and one more for each Commit after it. 0: nothing is lost.
	Dropped uint64
	// FirstKept is the lowest seq kept, or the stream's highest seq (0 if it
	// never had a line) when nothing is kept.
	FirstKept uint64
}

// Page is the answer to one read.
type Page struct {
	// Lines are in order of Seq and without a gap other than what Loss tells.
	Lines []Line
	// Next is the cursor to go on from. After: the last returned seq when the
	// page was cut (More), else the head of the selection, or the cursor asked
	// for if that was higher. Tail: the head of the selection.
	Next uint64
	// More tells that the bounds of the call left kept lines out: newer ones
	// for After, older ones for Tail.
	More bool
	// Loss is indexed by Kind; streams that were not selected have the zero Loss.
	Loss [2]Loss
}

// Stat counts what a stream ever produced. Eviction and Reclaim take nothing
// off Lines and Bytes.
type Stat struct {
	// Lines is the number of lines, pieces of cut lines included.
	Lines uint64
	// Bytes is every byte committed, terminators included.
	Bytes uint64
	// Pending is the number of bytes that wait for their newline.
	Pending uint64
	Loss    Loss
}
