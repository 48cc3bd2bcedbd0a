package darwin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// ProgramKind is what the first bytes of a file say it is.
type ProgramKind uint8

// The kinds of file that somebody tries to run.
const (
	ProgramUnknown ProgramKind = iota
	ProgramEmpty
	ProgramMachO
	ProgramScript // "#!"
	ProgramELF    // of Linux and others
	ProgramPE     // of Windows
)

// Program is what the kernel would make of a file.
type Program struct {
	Kind        ProgramKind
	Interpreter string // of a script: the path after "#!"
	Endless     bool   // of a script: its first line does not end where the kernel looks
}

// ProgramHead is how many bytes of a file ParseProgram wants: a script's first
// line has to end within them (IMG_SHSIZE, bsd/sys/imgact.h).
const ProgramHead = 512

// ParseProgram looks at the first bytes of a file.
func ParseProgram(head []byte) Program {
	switch {
	case len(head) == 0:
		return Program{Kind: ProgramEmpty}
	case bytes.HasPrefix(head, []byte("#!")):
		// A comment ends the line, too (exec_shell_imgact, bsd/kern/kern_exec.c).
		line := head[2:]
		end := bytes.IndexAny(line, "\n#")
		if end < 0 {
			return Program{Kind: ProgramScript, Endless: true}
		}
		word := strings.TrimLeft(string(line[:end]), " \t")
		if i := strings.IndexAny(word, " \t\x00"); i >= 0 {
			word = word[:i]
		}
		return Program{Kind: ProgramScript, Interpreter: word}
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return Program{Kind: ProgramELF}
	case bytes.HasPrefix(head, []byte("MZ")):
		return Program{Kind: ProgramPE}
	case len(head) < 4:
		return Program{}
	}
	// MH_MAGIC and MH_MAGIC_64 in the order of the machine; FAT_MAGIC and
	// FAT_MAGIC_64 always big-endian.
	switch little, big := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head); {
	case little == 0xFEEDFACE, little == 0xFEEDFACF, big == 0xCAFEBABE, big == 0xCAFEBABF:
		return Program{Kind: ProgramMachO}
	}
	return Program{}
}

// Refusal is why the kernel does not run a file of this kind.
func (p Program) Refusal() string {
	switch p.Kind {
	case ProgramEmpty:
		return "is an empty file"
	case ProgramELF:
		return "is a program for Linux or another system, not for macOS"
	case ProgramPE:
		return "is a program for Windows, not for macOS"
	case ProgramScript:
		if p.Endless {
			return fmt.Sprintf("is a script whose first line does not end within %d bytes", ProgramHead)
		}
		return `is a script whose first line names no program after "#!"`
	case ProgramMachO:
		return "is a program for another kind of processor"
	}
	return `is neither a program of this system nor a script that begins with "#!"`
}
