package value

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxRunID      = 256 // characters
	maxLabelKey   = 64
	maxLabelValue = 256
)

// CheckRunID says why a text cannot be a run id: 1 to 256 characters, none of
// them a control or a format character.
func CheckRunID(id string) error {
	if id == "" {
		return errors.New("a run id has at least 1 character")
	}
	return checkText("a run id", id, maxRunID)
}

// Label reads KEY=VALUE, split at the first "=".
func Label(s string) (key, val string, err error) {
	key, val, ok := strings.Cut(s, "=")
	if !ok {
		return "", "", errors.New("a label has the form KEY=VALUE")
	}
	return key, val, CheckLabel(key, val)
}

// CheckLabel says why a pair cannot be a label: the key has 1 to 64 of A-Z a-z
// 0-9 "." "_" "-" and begins with a letter or "_"; the value has up to 256
// characters, none of them a control or a format character.
func CheckLabel(key, val string) error {
	if key == "" || len(key) > maxLabelKey {
		return fmt.Errorf("a label's key has 1 to %d characters", maxLabelKey)
	}
	for i := range len(key) {
		c := key[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '.' && c != '-' && (c < '0' || c > '9')) {
			return errors.New("a label's key begins with a letter or _ and goes on with letters, digits, . _ -")
		}
	}
	return checkText("a label's value", val, maxLabelValue)
}

func checkText(what, s string, limit int) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is UTF-8", what)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return fmt.Errorf("%s has at most %d characters, not %d", what, limit, n)
	}
	for _, c := range s {
		if hidden(c) {
			return fmt.Errorf("%s has no control and no format characters, and this has %U", what, c)
		}
	}
	return nil
}

// hidden reports a character that could change how the text around it is shown:
// the categories Cc (control) and Cf (format).
func hidden(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) }
