package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fingerprint is the SHA-256 over the arguments' own bytes, joined with NUL, in
// lower-case hexadecimal: two command lines that differ in any byte differ here.
func Fingerprint(argv []string) string {
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00")))
	return hex.EncodeToString(sum[:])
}

// hintOf classifies a command line by a closed list; "" is none of it.
func hintOf(argv []string) string {
	line := strings.ToLower(strings.Join(argv, " "))
	for _, part := range []string{"msbuild.dll", "/nodemode:1", "/nodereuse:true"} {
		if !strings.Contains(line, part) {
			return ""
		}
	}
	return "msbuild_node_reuse"
}

// commandOf is what the stream tells of a command line.
func commandOf(argv []string, raw bool) Command {
	sum := Fingerprint(argv)
	c := Command{Redacted: !raw, SHA256: &sum}
	if h := hintOf(argv); h != "" {
		c.Hint = &h
	}
	if raw {
		c.Argv = make([]string, len(argv))
		for i, a := range argv {
			c.Argv[i] = rawArg(a)
		}
	}
	return c
}

// rawArg keeps an argument that is not Unicode apart from every other: U+0000,
// which no argument holds, then the bytes with backslash doubled and what is no
// text as \xNN.
func rawArg(a string) string {
	if utf8.ValidString(a) {
		return a
	}
	var b strings.Builder
	b.WriteByte(0)
	for i := 0; i < len(a); {
		r, n := utf8.DecodeRuneInString(a[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, a[i])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}
