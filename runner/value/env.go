package value

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Var is one entry of an environment.
type Var struct{ Key, Value string }

// Env reads KEY=VALUE, split at the first "=". No error repeats the value.
func Env(s string) (Var, error) {
	key, val, ok := strings.Cut(s, "=")
	if !ok {
		return Var{}, errors.New("an environment entry has the form KEY=VALUE")
	}
	if err := CheckEnvKey(key); err != nil {
		return Var{}, err
	}
	if strings.IndexByte(val, 0) >= 0 {
		return Var{}, fmt.Errorf("the value of %s holds a NUL character", key)
	}
	return Var{key, val}, nil
}

// CheckEnvKey says why a text cannot name an environment entry: it is empty, or
// holds "=", whitespace or a control character. The text is not repeated: it may
// be a whole entry with its value.
func CheckEnvKey(key string) error {
	switch {
	case key == "":
		return errors.New("the name of an environment entry is not empty")
	case strings.ContainsRune(key, '='):
		return errors.New("the name of an environment entry holds no =")
	case strings.ContainsFunc(key, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }):
		return errors.New("the name of an environment entry holds no whitespace and no control character")
	}
	return nil
}

// EnvFile reads a file of one KEY=VALUE a line in UTF-8. Blank lines and lines
// whose first other character than whitespace is # are passed over; nothing is
// quoted, exported or expanded. A byte order mark and the carriage return of a
// line's end are no part of it. An error names the line and not its content.
func EnvFile(data []byte) ([]Var, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8")
	}
	var vars []Var
	text := strings.TrimPrefix(string(data), "\uFEFF")
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		if first := strings.TrimSpace(line); first == "" || first[0] == '#' {
			continue
		}
		v, err := Env(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		vars = append(vars, v)
	}
	return vars, nil
}
