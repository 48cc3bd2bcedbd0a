package linux

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
)

// elf builds the head of a program with one interpreter header.
func elf(wide bool, order binary.ByteOrder, machine uint16, interp string) []byte {
	b := make([]byte, 256, 512)
	copy(b, "\x7fELF")
	b[4], b[5] = 1, 1
	if wide {
		b[4] = 2
	}
	if order == binary.BigEndian {
		b[5] = 2
	}
	order.PutUint16(b[18:], machine)
	text := uint64(len(b))
	if wide {
		order.PutUint64(b[32:], 64)
		order.PutUint16(b[54:], 56)
		order.PutUint16(b[56:], 2)
		h := b[64+56:] // the second header
		order.PutUint32(h, 3)
		order.PutUint64(h[8:], text)
		order.PutUint64(h[32:], uint64(len(interp)+1))
	} else {
		order.PutUint32(b[28:], 52)
		order.PutUint16(b[42:], 32)
		order.PutUint16(b[44:], 2)
		h := b[52+32:]
		order.PutUint32(h, 3)
		order.PutUint32(h[4:], uint32(text))
		order.PutUint32(h[16:], uint32(len(interp)+1))
	}
	return append(b, interp+"\x00"...)
}

func TestParseProgram(t *testing.T) {
	for _, c := range []struct {
		name   string
		head   []byte
		kind   ProgramKind
		interp string
	}{
		{"empty", nil, ProgramEmpty, ""},
		{"text", []byte("hello\n"), ProgramOther, ""},
		{"script", []byte("#!/bin/sh\necho"), ProgramScript, "/bin/sh"},
		{"script with space", []byte("#! \t/bin/sh -e\n"), ProgramScript, "/bin/sh"},
		{"script at the end of the file", []byte("#!/bin/sh"), ProgramScript, "/bin/sh"},
		{"script with a carriage return", []byte("#!/bin/sh\r\n"), ProgramScript, "/bin/sh\r"},
		{"script without a name", []byte("#!  \n/bin/sh"), ProgramScript, ""},
		{"script beyond the kernel's look", []byte("#!/" + strings.Repeat("a", 400) + "\n"), ProgramScript, "/" + strings.Repeat("a", 253)},
		{"64 bit", elf(true, binary.LittleEndian, 62, "/lib64/ld.so"), ProgramELF, "/lib64/ld.so"},
		{"32 bit", elf(false, binary.LittleEndian, 3, "/lib/ld.so"), ProgramELF, "/lib/ld.so"},
		{"64 bit, big-endian", elf(true, binary.BigEndian, 22, "/lib/ld64.so"), ProgramELF, "/lib/ld64.so"},
		{"cut short", elf(true, binary.LittleEndian, 62, "/lib64/ld.so")[:60], ProgramELF, ""},
		{"nothing but the mark", []byte("\x7fELF"), ProgramELF, ""},
	} {
		p := ParseProgram(c.head)
		if p.Kind != c.kind || p.Interpreter != c.interp {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestRefusal(t *testing.T) {
	for text, p := range map[string]Program{
		"is an empty file":                     {Kind: ProgramEmpty},
		"its #! line names no interpreter":     {Kind: ProgramScript},
		"its interpreter /x is no program":     {Kind: ProgramScript, Interpreter: "/x"},
		"is a program for s390x; this machine": {Kind: ProgramELF, Machine: 22},
		"is a program for machine type 999":    {Kind: ProgramELF, Machine: 999},
		"is neither a program nor a script":    {Kind: ProgramOther},
	} {
		if got := p.Refusal(); !strings.HasPrefix(got, text) {
			t.Errorf("%+v: %q", p, got)
		}
	}
}

func TestOwnProgramIsNative(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of this system are no ELF files")
	}
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if p := ParseProgram(exe[:ProgramHead]); !p.Native() {
		t.Errorf("%+v", p)
	}
}

func FuzzParseProgram(f *testing.F) {
	f.Add(elf(true, binary.LittleEndian, 62, "/lib64/ld.so"))
	f.Add(elf(false, binary.BigEndian, 3, "/lib/ld.so"))
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := ParseProgram(b)
		if p.Interpreter != "" && !strings.Contains(string(b), p.Interpreter) {
			t.Errorf("interpreter %q is not in the file", p.Interpreter)
		}
		if p.Refusal() == "" {
			t.Error("no text")
		}
	})
}
