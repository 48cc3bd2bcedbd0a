package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
)

// ProgramKind tells what a file's first bytes are.
type ProgramKind uint8

const (
	ProgramOther  ProgramKind = iota // none of the kinds below
	ProgramEmpty                     // no bytes at all
	ProgramScript                    // #! line
	ProgramELF
)

// Program is what the head of an executable file tells.
type Program struct {
	Kind ProgramKind
	// Interpreter is the program of the #! line, or the loader that an ELF file
	// names; "" when there is none.
	Interpreter string
	Machine     uint16 // e_machine of an ELF file
}

// ProgramHead is how much of a file ParseProgram wants: one page.
const ProgramHead = 4096

// scriptHead is how much of a script the kernel itself looks at
// (BINPRM_BUF_SIZE, 256 since 5.1).
const scriptHead = 256

// ParseProgram reads the head of a file as the kernel's exec does.
func ParseProgram(head []byte) Program {
	switch {
	case len(head) == 0:
		return Program{Kind: ProgramEmpty}
	case bytes.HasPrefix(head, []byte("#!")):
		return Program{Kind: ProgramScript, Interpreter: scriptInterpreter(head)}
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return parseELF(head)
	}
	return Program{Kind: ProgramOther}
}

func scriptInterpreter(head []byte) string {
	line := head[2:min(len(head), scriptHead)]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimLeft(line, " \t")
	if i := bytes.IndexAny(line, " \t\x00"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

func parseELF(head []byte) Program {
	p := Program{Kind: ProgramELF}
	if len(head) < 52 {
		return p
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	p.Machine = order.Uint16(head[18:])
	wide := head[4] == 2
	if wide && len(head) < 64 {
		return p
	}
	// The program headers: where, how large each, how many.
	off, size, count := uint64(order.Uint32(head[28:])), order.Uint16(head[42:]), order.Uint16(head[44:])
	if wide {
		off, size, count = order.Uint64(head[32:]), order.Uint16(head[54:]), order.Uint16(head[56:])
	}
	const ptInterp = 3
	for range count {
		need := uint64(32)
		if wide {
			need = 56
		}
		if uint64(size) < need || off > uint64(len(head)) || uint64(len(head))-off < need {
			return p
		}
		h := head[off:]
		if order.Uint32(h) == ptInterp {
			from, n := uint64(order.Uint32(h[4:])), uint64(order.Uint32(h[16:]))
			if wide {
				from, n = order.Uint64(h[8:]), order.Uint64(h[32:])
			}
			if from < uint64(len(head)) && n <= uint64(len(head))-from {
				p.Interpreter = string(bytes.TrimRight(head[from:from+n], "\x00"))
			}
			return p
		}
		off += uint64(size)
	}
	return p
}

// machines names e_machine values, with the GOARCH that has them.
var machines = map[uint16]string{
	2: "sparc", 3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm",
	43: "sparc64", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
}

// Native tells whether an ELF file is for the machine that this program is
// built for.
func (p Program) Native() bool {
	arch := strings.TrimSuffix(runtime.GOARCH, "le")
	return p.Kind == ProgramELF && machines[p.Machine] == arch
}

// Refusal explains, for people, why the kernel does not run such a file
// (ENOEXEC).
func (p Program) Refusal() string {
	switch {
	case p.Kind == ProgramEmpty:
		return "is an empty file"
	case p.Kind == ProgramScript && p.Interpreter == "":
		return "its #! line names no interpreter"
	case p.Kind == ProgramScript:
		return "its interpreter " + p.Interpreter + " is no program that this machine runs"
	case p.Kind == ProgramELF && !p.Native():
		name := machines[p.Machine]
		if name == "" {
			name = fmt.Sprintf("machine type %d", p.Machine)
		}
		return "is a program for " + name + "; this machine is " + runtime.GOARCH
	case p.Kind == ProgramELF:
		return "is a damaged program file"
	}
	return "is neither a program nor a script with a #! line"
}
