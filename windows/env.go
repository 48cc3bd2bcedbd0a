package windows

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// EnvBlock is a CREATE_UNICODE_ENVIRONMENT block: NUL-terminated KEY=value
// texts, sorted by key without regard to case as CreateProcess wants them, and
// one more NUL. Of keys that differ only in case the last entry wins. Keys may
// begin with "=", as cmd.exe's hidden per-drive directories do.
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
		block = append(block, utf16.Encode([]rune(e.text))...)
		block = append(block, 0)
	}
	if len(block) == 0 {
		// An empty block is two NULs; one alone reads past its end.
		block = append(block, 0)
	}
	return append(block, 0), nil
}
