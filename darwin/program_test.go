package darwin

import "testing"

func TestParseProgram(t *testing.T) {
	for head, want := range map[string]Program{
		"":                             {Kind: ProgramEmpty},
		"x":                            {},
		"echo hello\n":                 {},
		"\xcf\xfa\xed\xfe\x07\x00\x00": {Kind: ProgramMachO},
		"\xca\xfe\xba\xbe\x00\x00\x00": {Kind: ProgramMachO},
		"\x7fELF\x02\x01":              {Kind: ProgramELF},
		"MZ\x90\x00":                   {Kind: ProgramPE},
		"#!/bin/sh\nexit 0\n":          {Kind: ProgramScript, Interpreter: "/bin/sh"},
		"#! \t/usr/bin/env  python3\n": {Kind: ProgramScript, Interpreter: "/usr/bin/env"},
		"#!/bin/sh\r\nexit\r\n":        {Kind: ProgramScript, Interpreter: "/bin/sh\r"},
		"#!":                           {Kind: ProgramScript, Endless: true},
		"#! \n":                        {Kind: ProgramScript},
		"#!/no/newline":                {Kind: ProgramScript, Endless: true},
		"#!/bin/sh # of old\n":         {Kind: ProgramScript, Interpreter: "/bin/sh"},
		"#!/bin/c#\n":                  {Kind: ProgramScript, Interpreter: "/bin/c"},
		"#!#/bin/sh\n":                 {Kind: ProgramScript},
	} {
		got := ParseProgram([]byte(head))
		if got != want {
			t.Errorf("ParseProgram(%q) = %+v, want %+v", head, got, want)
		}
		if got.Refusal() == "" {
			t.Errorf("%q: no reason", head)
		}
	}
}
