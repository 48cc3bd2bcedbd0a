package main

import "unicode"

// cells is how many columns of a terminal a text takes.
func cells(s string) int {
	n := 0
	for _, c := range s {
		n += cellsOf(c)
	}
	return n
}

// cellsOf is 0 for a mark on the character before, 2 for a wide one.
func cellsOf(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case unicode.In(c, unicode.Mn, unicode.Me):
		return 0
	}
	for _, r := range wide {
		if c <= r[1] {
			if c >= r[0] {
				return 2
			}
			break
		}
	}
	return 1
}

// wide are the ranges whose characters are two columns wide (Unicode's East Asian
// Width, W and F, with small gaps closed).
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97f},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}

const ellipsis = "…"

// cutEnd leaves a text's beginning, in at most n cells, n at least 1.
func cutEnd(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	at, room := 0, n-1
	for i, c := range s {
		if room -= cellsOf(c); room < 0 {
			break
		}
		at = i + len(string(c))
	}
	return s[:at] + ellipsis
}

// cutStart leaves a text's end: of a path that tells more.
func cutStart(s string, n int) string {
	over := cells(s) - n
	if over <= 0 {
		return s
	}
	over++ // for the sign
	for i, c := range s {
		if over <= 0 && cellsOf(c) > 0 {
			return ellipsis + s[i:]
		}
		over -= cellsOf(c)
	}
	return ellipsis
}
