package main

import (
	"fmt"
	"html"
	"strings"
)

const (
	plotWidth = 720
	labelEnd  = 130
	barStart  = 140
	barEnd    = 600
	rowHeight = 26
	plotTop   = 44
)

// svg draws a bar a side: the ratio of its median to the base's, with a line over
// eight of ten samples and a dot at the best.
func (t *table) svg() string {
	var base row
	most, n := 0.0, 0
	for _, r := range t.rows {
		if r.side == t.base {
			base = r
		}
	}
	if base.median == 0 {
		base.median = 1
	}
	for _, r := range t.rows {
		if r.samples > 0 {
			most = max(most, r.high/base.median, r.best/base.median)
			n++
		}
	}
	if most == 0 {
		most = 1
	}
	x := func(v float64) float64 { return barStart + v/base.median/most*(barEnd-barStart) }
	var b strings.Builder
	height := plotTop + n*rowHeight + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, height)
	better := "less is better"
	if t.more {
		better = "more is better"
	}
	fmt.Fprintf(&b, `<text x="10" y="18" font-size="14" font-weight="bold">%s</text>`+"\n", html.EscapeString(t.title))
	fmt.Fprintf(&b, `<text x="10" y="34" fill="#555">median, × %s (%s); line: 10 – 90 %%, dot: best</text>`+"\n", html.EscapeString(t.base), better)
	y := plotTop
	for _, r := range t.rows {
		if r.samples == 0 {
			continue
		}
		fill := "#b8c4d0"
		if r.side == "belfry" {
			fill = "#3b7dd8"
		}
		mid := y + rowHeight/2
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelEnd, mid+4, html.EscapeString(r.side))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", barStart, y+4, x(r.median)-barStart, rowHeight-8, fill)
		fmt.Fprintf(&b, `<path d="M%.1f %dH%.1f" stroke="#222"/>`+"\n", x(r.low), mid, x(r.high))
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="3" fill="#222"/>`+"\n", x(r.best), mid)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s × (%s %s)</text>`+"\n", barEnd+12, mid+4, ratio(r.medianOf), figure(r.median), html.EscapeString(t.unit))
		y += rowHeight
	}
	if base.side != "" {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#c33" stroke-dasharray="3 3"/>`+"\n", x(base.median), plotTop, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
