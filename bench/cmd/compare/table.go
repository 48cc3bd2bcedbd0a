package main

import (
	"fmt"
	"strings"
)

// table is what one comparison has found.
type table struct {
	key   string // names its plot
	title string
	text  string // what was done, in a sentence or two
	unit  string
	more  bool // more is better
	base  string
	rows  []row
}

// row is one side. Values are in the table's unit; a ratio is to the base's
// value of the same kind, and 0 if there is none.
type row struct {
	side             string
	best, median     float64
	low, high        float64 // between them lie eight of ten samples
	bestOf, medianOf float64 // ratios
	cpu, cpuOf       float64 // processor seconds a GB, median; 0: not known or nothing moved
	samples          int
	failed           string
}

// tabulate makes the table of a comparison; value turns a sample into the unit.
func (t table) tabulate(all []*series, value func(sample) float64) table {
	var base row
	for _, s := range all {
		r := row{side: s.side, samples: len(s.samples), failed: s.failed}
		if len(s.samples) > 0 {
			v := s.sorted(value)
			r.low, r.median, r.high = at(v, 10), at(v, 50), at(v, 90)
			r.best = v[0]
			if t.more {
				r.best = v[len(v)-1]
			}
			if s.samples[0].bytes > 0 && s.samples[0].cpu > 0 {
				r.cpu = at(s.sorted(perGB), 50)
			}
		}
		if s.side == t.base {
			base = r
		}
		t.rows = append(t.rows, r)
	}
	for i := range t.rows {
		r := &t.rows[i]
		r.bestOf, r.medianOf, r.cpuOf = over(r.best, base.best), over(r.median, base.median), over(r.cpu, base.cpu)
	}
	return t
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// row gives the row of a side that was measured.
func (t *table) row(side string) (row, bool) {
	for _, r := range t.rows {
		if r.side == side && r.samples > 0 {
			return r, true
		}
	}
	return row{}, false
}

// markdown writes the table; its plot is beside it.
func (t *table) markdown(to *strings.Builder) {
	fmt.Fprintf(to, "## %s\n\n%s\n\n![%s](%s.svg)\n\n", t.title, t.text, t.title, t.key)
	cpu := false
	for _, r := range t.rows {
		cpu = cpu || r.cpu > 0
	}
	head := []string{"", t.unit + ", best", "median", "10 – 90 %", "best, × " + t.base, "median, × " + t.base}
	if cpu {
		head = append(head, "CPU s/GB", "CPU, × "+t.base)
	}
	cells(to, head)
	rule := []string{"---"}
	for range head[1:] {
		rule = append(rule, "---:")
	}
	cells(to, rule)
	for _, r := range t.rows {
		if r.samples == 0 {
			fmt.Fprintf(to, "| %s | left out: %s |\n", r.side, strings.ReplaceAll(r.failed, "|", "/"))
			continue
		}
		line := []string{r.side, figure(r.best), figure(r.median), figure(r.low) + " – " + figure(r.high), ratio(r.bestOf), ratio(r.medianOf)}
		if cpu {
			line = append(line, figure(r.cpu), ratio(r.cpuOf))
		}
		cells(to, line)
	}
	fmt.Fprintln(to)
}

func cells(to *strings.Builder, words []string) {
	fmt.Fprintf(to, "| %s |\n", strings.Join(words, " | "))
}

// figure prints three digits that count.
func figure(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ratio(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}
