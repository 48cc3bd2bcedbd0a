// prng writes bcryptprimitives.dll, of which a Windows program built by Go
// 1.23 or later loads ProcessPrng when it starts and which Wine before 9 does
// not have. The file holds no code: its one export forwards to RtlGenRandom.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prng FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], library(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "prng:", err)
		os.Exit(1)
	}
}

// Where things lie: the headers fill the first fileAlign bytes, the section
// the second, which is loaded at sectionAt.
const (
	sectionAt  = 0x1000
	fileAlign  = 0x200
	exportSize = 0x100
)

// library is a PE32+ image of one section, the export directory.
func library() []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			// Best effort: a buffer takes what it is given.
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	dos := make([]byte, 0x40)
	copy(dos, "MZ")
	dos[0x3C] = 0x40
	put(dos, []byte("PE\x00\x00"))
	// COFF: AMD64, one section, an optional header of 240 bytes, and
	// EXECUTABLE_IMAGE | LARGE_ADDRESS_AWARE | DLL.
	put([]uint16{0x8664, 1}, []uint32{0, 0, 0}, []uint16{240, 0x2022})
	// Optional header: no code, no entry point.
	put([]uint16{0x20B, 0}, []uint32{0, fileAlign, 0, 0, 0})
	put(uint64(0x180000000), []uint32{sectionAt, fileAlign})
	put([]uint16{6, 0, 0, 0, 6, 0}, []uint32{0, 2 * sectionAt, fileAlign, 0})
	put([]uint16{3, 0x0100}) // console, NX_COMPAT
	put([]uint64{1 << 20, 1 << 12, 1 << 20, 1 << 12}, []uint32{0, 16})
	put([]uint32{sectionAt, exportSize}, make([]uint32, 30))
	// The section: initialised data, readable.
	put([]byte(".edata\x00\x00"), []uint32{fileAlign, sectionAt, fileAlign, fileAlign, 0, 0})
	put([]uint16{0, 0}, uint32(0x40000040))
	return append(append(b.Bytes(), make([]byte, fileAlign-b.Len())...), exports()...)
}

// exports is the export directory; an entry whose address lies inside it is
// the name of what it forwards to.
func exports() []byte {
	s := make([]byte, fileAlign)
	long := func(at int, v uint32) { binary.LittleEndian.PutUint32(s[at:], v) }
	text := func(at int, v string) uint32 { copy(s[at:], v); return sectionAt + uint32(at) }
	long(0x0C, text(0x60, "bcryptprimitives.dll"))
	long(0x10, 1) // ordinals count from 1
	long(0x14, 1) // functions
	long(0x18, 1) // names
	long(0x1C, sectionAt+0x40)
	long(0x20, sectionAt+0x44)
	long(0x24, sectionAt+0x48)
	long(0x40, text(0xA0, "advapi32.SystemFunction036"))
	long(0x44, text(0x80, "ProcessPrng"))
	return s
}
