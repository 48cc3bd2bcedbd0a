package ring

// haveAVX2 tells that processor and system let splitAVX2 run.
var haveAVX2 = detectAVX2()

// block is how many bytes splitAVX2 looks at together, and the least it needs.
const block = 64

// split is splitGo, or splitAVX2 where that can be had.
func split(buf []byte, from int, out []uint32, mean int) int {
	if !haveAVX2 || len(buf) < block || len(out) == 0 {
		return splitGo(buf, from, out, mean)
	}
	_ = buf[from:] // what splitAVX2 takes for granted
	tellRace(buf, from, out)
	return splitAVX2(buf, from, out)
}

// splitAVX2 does what splitGo does, 64 bytes at a time and for lines of any
// length. It reads nothing outside of buf, but for the last block some of what
// lies before from. It needs haveAVX2, a block in buf, room in out, and from
// between 0 and len(buf).
//
//go:noescape
func splitAVX2(buf []byte, from int, out []uint32) int

// cpuid is the instruction CPUID.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv0 gives the low half of XCR0, the register state that the system saves.
// It needs OSXSAVE.
func xgetbv0() uint32

// detectAVX2 asks for all that splitAVX2 uses: AVX2, BMI1 (TZCNT, BLSR), POPCNT,
// and a system that saves the YMM registers (Intel SDM volume 1, 14.3 and 14.7.1).
func detectAVX2() bool {
	const (
		popcnt  = 1 << 23 // leaf 1, ECX
		osxsave = 1 << 27
		avx     = 1 << 28
		bmi1    = 1 << 3 // leaf 7, EBX
		avx2    = 1 << 5
		ymm     = 1<<1 | 1<<2 // XCR0: XMM and the upper halves

		leaf1 = popcnt | osxsave | avx
		leaf7 = bmi1 | avx2
	)
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&leaf1 != leaf1 || xgetbv0()&ymm != ymm {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&leaf7 == leaf7
}
