#include "textflag.h"

// In splitAVX2 AX is the offset of a block and 1 more, for what is written are
// offsets behind newlines: byte i of the block is at (SI)(AX*1) - 1 + i.

// MASK makes bit i of DX tell whether byte i of the block is a newline.
#define MASK \
	VPCMPEQB  -1(SI)(AX*1), Y0, Y1 \
	VPCMPEQB  31(SI)(AX*1), Y0, Y2 \
	VPMOVMSKB Y1, DX               \
	VPMOVMSKB Y2, BX               \
	SHLQ      $32, BX              \
	ORQ       BX, DX

// PUT writes the offset behind the first newline of DX, at bytes behind DI.
#define PUT(at) \
	TZCNTQ DX, BX \
	ADDL   AX, BX \
	MOVL   BX, at(DI)

// func splitAVX2(buf []byte, from int, out []uint32) int
TEXT ·splitAVX2(SB), NOSPLIT, $0-64
	MOVQ buf_base+0(FP), SI
	MOVQ buf_len+8(FP), R8
	MOVQ from+24(FP), AX
	MOVQ out_base+32(FP), DI
	MOVQ out_len+40(FP), R10

	INCQ AX
	INCQ R8                // the end of buf, counted like AX
	LEAQ -64(R8), R9       // the last block of buf
	LEAQ (DI)(R10*4), R10  // the end of out
	LEAQ -12(R10), R11     // the last entry that has two more behind it

	MOVL         $'\n', BX
	VMOVD        BX, X0
	VPBROADCASTB X0, Y0

	CMPQ AX, R9
	JGT  rest

	// Here DI is an entry of out, not its end.
block:
	MASK

	// Two entries are written even for a block with fewer newlines, for a
	// branch would be taken at random and cost more. JNE is BLSR's: a third.
emit:
	CMPQ    DI, R11
	JHI     few
	POPCNTQ DX, CX
	PUT(0)
	BLSRQ   DX, DX
	PUT(4)
	BLSRQ   DX, DX
	JNE     many
	LEAQ    (DI)(CX*4), DI

next:
	ADDQ $64, AX
	CMPQ AX, R9
	JLE  block

	// Fewer than 64 bytes are left. Take the last 64 of buf, and clear the
	// bits of those that come before.
rest:
	CMPQ AX, R8
	JGE  done
	MOVQ AX, CX
	SUBQ R9, CX
	MOVQ R9, AX
	MASK
	SHRQ CX, DX
	SHLQ CX, DX
	JMP  emit

few:
	TESTQ DX, DX
	JNE   one
	JMP   next

many:
	ADDQ $8, DI

one:
	PUT(0)
	ADDQ  $4, DI
	CMPQ  DI, R10
	JEQ   done
	BLSRQ DX, DX
	JNE   one
	JMP   next

done:
	VZEROUPPER
	SUBQ out_base+32(FP), DI
	SHRQ $2, DI
	MOVQ DI, ret+56(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv0() uint32
TEXT ·xgetbv0(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
