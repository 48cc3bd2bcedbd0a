package main

import "strings"

// column is how a column of a table stands to a terminal that is too narrow. A pipe
// has all of every column.
type column struct {
	head string
	// least is to how many cells it may be cut; 0: never, as what one copies.
	least int
	path  bool // it is cut at the beginning
	// spare is in which order columns are left out where cutting does not do, the
	// highest first; 0: never.
	spare int
}

// cell is one field of a table, and its colour or "".
type cell struct{ text, colour string }

// table is rows below the heads of its columns; none has a head where the first
// has none.
type table struct {
	columns []column
	rows    [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

// printTable writes a table to stdout.
func (a *App) printTable(t *table) error { return a.printf("%s", t.text(a.screen())) }

// gap is between two columns, in cells.
const gap = 2

// text aligns the columns by the cells that they take on a terminal. What stands
// last in a row is not padded.
func (t *table) text(s screen) string {
	widths := t.fit(s.width)
	var b strings.Builder
	if t.columns[0].head != "" {
		heads := make([]cell, len(t.columns))
		for i, c := range t.columns {
			heads[i] = cell{c.head, bold}
		}
		t.write(&b, s, widths, heads)
	}
	for _, row := range t.rows {
		t.write(&b, s, widths, row)
	}
	return b.String()
}

// write writes one row. A column that is left out has the width leftOut.
func (t *table) write(b *strings.Builder, s screen, widths []int, row []cell) {
	pad := 0
	for i, c := range row {
		if widths[i] == leftOut {
			continue
		}
		text := c.text
		if t.columns[i].path {
			text = cutStart(text, widths[i])
		} else {
			text = cutEnd(text, widths[i])
		}
		b.WriteString(strings.Repeat(" ", pad))
		b.WriteString(s.paint(text, c.colour))
		pad = widths[i] - cells(text) + gap
	}
	b.WriteByte('\n')
}

const leftOut = -1

// fit gives each column its width, so that a row takes at most that many cells
// where this can be; 0 is no limit.
func (t *table) fit(most int) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(cells(c.head), 1)
		for _, row := range t.rows {
			widths[i] = max(widths[i], cells(row[i].text))
		}
	}
	if most <= 0 {
		return widths
	}
	for rowWidth(widths, t.leastOf) > most {
		at := 0
		for i, c := range t.columns {
			if widths[i] != leftOut && c.spare > t.columns[at].spare {
				at = i
			}
		}
		if t.columns[at].spare == 0 || widths[at] == leftOut {
			break
		}
		widths[at] = leftOut
	}
	for rowWidth(widths, func(_, width int) int { return width }) > most {
		at := -1
		for i, width := range widths {
			if width > t.leastOf(i, width) && (at < 0 || width > widths[at]) {
				at = i
			}
		}
		if at < 0 {
			break // it goes on in the next line
		}
		widths[at]--
	}
	return widths
}

// leastOf is to what a column can be cut.
func (t *table) leastOf(i, width int) int {
	if c := t.columns[i]; c.least > 0 {
		return min(width, max(c.least, cells(c.head)))
	}
	return width
}

// rowWidth is how many cells a row takes.
func rowWidth(widths []int, of func(i, width int) int) int {
	sum := -gap
	for i, width := range widths {
		if width != leftOut {
			sum += of(i, width) + gap
		}
	}
	return sum
}
