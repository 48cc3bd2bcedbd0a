package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// The colours of a table, as a terminal is told them.
const (
	plainText = "\x1b[0m"
	bold      = "\x1b[1m"
	faint     = "\x1b[2m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
)

// cell is one field of a table, and its colour or "".
type cell struct{ text, colour string }

// table aligns rows by the characters of their cells, which colours do not
// widen. The last cell of a row is not padded.
func table(rows [][]cell, coloured bool) string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row {
			if coloured && c.colour != "" {
				b.WriteString(c.colour + c.text + plainText)
			} else {
				b.WriteString(c.text)
			}
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
