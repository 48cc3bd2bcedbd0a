package windows

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EnvBlock is a CREATE_UNICODE_ENVIRONMENT block: NUL-terminated KEY=value
// texts, sorted by key without regard to case as CreateProcess wants them, and
// one more NUL. Of keys that differ only in case the last entry wins. Keys may
// begin with "=", as cmd.exe's hidden per-drive directories do. Text that came
// from the system is given back as it was: see appendUTF16.
func EnvBlock(env []string) ([]uint16, error) {
	type entry struct{ key, text string }
	last := make(map[string]int, len(env))
	list := make([]entry, 0, len(env))
	for _, text := range env {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, fmt.Errorf("environment entry %.60q: %w", text, ErrNul)
		}
		eq := strings.IndexByte(text[min(1, len(text)):], '=') + 1
		if eq < 1 {
			return nil, fmt.Errorf("environment entry %.60q: is not KEY=value", text)
		}
		key := strings.ToUpper(text[:eq])
		if i, ok := last[key]; ok {
			list[i].text = text
			continue
		}
		last[key] = len(list)
		list = append(list, entry{key, text})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	var block []uint16
	for _, e := range list {
		block = append(appendUTF16(block, e.text), 0)
	}
	if len(block) == 0 {
		// An empty block is two NULs; one alone reads past its end.
		block = append(block, 0)
	}
	return append(block, 0), nil
}

// appendUTF16 encodes text of a Go program. The system's text may hold surrogates
// without a partner, as names of files do, and Go reads each as the three bytes
// that UTF-8 has no meaning for; from these it is made again. What else is not
// UTF-8 is replaced.
func appendUTF16(units []uint16, text string) []uint16 {
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 && len(text) >= 3 &&
			text[0] == 0xED && text[1]&0xE0 == 0xA0 && text[2]&0xC0 == 0x80 {
			units = append(units, 0xD000|uint16(text[1]&0x3F)<<6|uint16(text[2]&0x3F))
			text = text[3:]
			continue
		}
		units = utf16.AppendRune(units, r)
		text = text[n:]
	}
	return units
}
