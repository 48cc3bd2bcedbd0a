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

func FuzzEnvBlock(f *testing.F) {
	f.Add("A=1", "a=2")
	f.Add("=C:=x", "Z=")
	f.Add("", "Ä=1")
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
		clean := string([]rune(b))
		if !slices.Contains(parts, clean) {
			t.Fatalf("%q, %q: the last entry is missing in %q", a, b, parts)
		}
	})
}
