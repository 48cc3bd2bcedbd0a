package windows

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestEnvBlock(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, "\x00\x00"},
		{[]string{"A=1"}, "A=1\x00\x00"},
		{[]string{"b=2", "A=1", "C="}, "A=1\x00b=2\x00C=\x00\x00"},
		{[]string{"Path=old", "X=1", "PATH=new"}, "PATH=new\x00X=1\x00\x00"},
		{[]string{"A=1=2", `=C:=C:\dir`}, "=C:=C:\\dir\x00A=1=2\x00\x00"},
		{[]string{"U=ü😀"}, "U=ü😀\x00\x00"},
	} {
		got, err := EnvBlock(tt.env)
		if err != nil || string(utf16.Decode(got)) != tt.want {
			t.Errorf("EnvBlock(%q) = %q, %v; want %q", tt.env, string(utf16.Decode(got)), err, tt.want)
		}
	}
	if _, err := EnvBlock([]string{"A=1\x00B=2"}); !errors.Is(err, ErrNul) {
		t.Errorf("NUL: %v", err)
	}
	for _, bad := range []string{"", "A", "=", "=C:"} {
		if b, err := EnvBlock([]string{bad}); err == nil {
			t.Errorf("%q was accepted as %q", bad, string(utf16.Decode(b)))
		}
	}
}

// A surrogate without a partner, as the system's own text may hold it, is given
// back; the two of a pair become one character, other bytes are replaced.
func TestEnvBlockSurrogates(t *testing.T) {
	for text, want := range map[string][]uint16{
		"\xED\xA0\x80":             {0xD800},
		"\xED\xBF\xBF":             {0xDFFF},
		"x\xED\xA0\xBDy":           {'x', 0xD83D, 'y'},
		"\xED\xA0\xBD\xED\xB8\x80": {0xD83D, 0xDE00},
		"😀":                        {0xD83D, 0xDE00},
		"\xED\x9F\xBF":             {0xD7FF},
		"\xED\xA0":                 {0xFFFD, 0xFFFD},
		"\xED\xA0\x41":             {0xFFFD, 0xFFFD, 'A'},
		"\xFF\uFFFD":               {0xFFFD, 0xFFFD},
	} {
		block, err := EnvBlock([]string{"A=" + text})
		if want = slices.Concat([]uint16{'A', '='}, want, []uint16{0, 0}); err != nil || !slices.Equal(block, want) {
			t.Errorf("%q: %#x, %v; want %#x", text, block, err, want)
		}
	}
}

func FuzzEnvBlock(f *testing.F) {
	f.Add("A=1", "a=2")
	f.Add("=C:=x", "Z=")
	f.Add("", "Ä=1")
	f.Add("A=\xED\xA0\x80", "B=\xED\xA0\xBD\xED\xB8\x80")
	f.Fuzz(func(t *testing.T, a, b string) {
		block, err := EnvBlock([]string{a, b})
		if err != nil {
			return
		}
		if n := len(block); n < 2 || block[n-1] != 0 || block[n-2] != 0 {
			t.Fatalf("block does not end: %v", block)
		}
		text := string(utf16.Decode(block))
		parts := strings.Split(strings.TrimSuffix(text, "\x00\x00"), "\x00")
		// What is not UTF-8 cannot be told from its replacement.
		clean := string(utf16.Decode(appendUTF16(nil, b)))
		if !slices.Contains(parts, clean) {
			t.Fatalf("%q, %q: the last entry is missing in %q", a, b, parts)
		}
	})
}
