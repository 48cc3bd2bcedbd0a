//go:build race

package ring

import (
	"runtime"
	"unsafe"
)

// tellRace tells the race detector, which does not see into assembly, what
// splitAVX2 is going to read and write.
func tellRace(buf []byte, from int, out []uint32) {
	from = min(from, len(buf)-block)
	runtime.RaceReadRange(unsafe.Pointer(&buf[from]), len(buf)-from)
	runtime.RaceWriteRange(unsafe.Pointer(&out[0]), 4*len(out))
}
