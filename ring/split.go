package ring

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// shortLine is the mean line length, in bytes, below which looking at eight
// bytes at a time beats a call of bytes.IndexByte for each line.
const shortLine = 24

// splitGo writes to out the offsets behind the newlines of buf[from:], and gives
// how many: all there are, or as many as fit. The rest of out is undefined. mean
// is the length of line to expect.
func splitGo(buf []byte, from int, out []uint32, mean int) int {
	if mean < shortLine {
		return splitShort(buf, from, out)
	}
	return splitLong(buf, from, out)
}

// splitLong is splitGo for long lines.
func splitLong(buf []byte, from int, out []uint32) int {
	n := 0
	for n < len(out) {
		k := bytes.IndexByte(buf[from:], '\n')
		if k < 0 {
			break
		}
		from += k + 1
		out[n] = uint32(from)
		n++
	}
	return n
}

// splitShort is splitGo for short lines.
func splitShort(buf []byte, from int, out []uint32) int {
	const (
		newlines = 0x0a0a0a0a0a0a0a0a
		low7     = 0x7f7f7f7f7f7f7f7f
	)
	n := 0
	for ; len(buf)-from >= 8; from += 8 {
		x := binary.LittleEndian.Uint64(buf[from:]) ^ newlines
		// The top bit of each byte of m tells, without carries between
		// bytes, that the byte was a newline.
		m := ^((x&low7 + low7) | x | low7)
		for ; m != 0; m &= m - 1 {
			if n == len(out) {
				return n
			}
			out[n] = uint32(from + bits.TrailingZeros64(m)/8 + 1)
			n++
		}
	}
	for ; from < len(buf) && n < len(out); from++ {
		if buf[from] == '\n' {
			out[n] = uint32(from + 1)
			n++
		}
	}
	return n
}
