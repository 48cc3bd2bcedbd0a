package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/runner/control"
)

// Whatever is told again from the beginning is printed once, and what was lost
// between two tellings is told.
func TestResumption(t *testing.T) {
	out, err := "stdout", "stderr"
	line := func(stream string, seq uint64) control.Said { return control.Said{Stream: stream, Seq: seq} }
	lost := func(stream string, n uint64) control.Said { return control.Said{Stream: stream, Dropped: n} }
	for _, c := range []struct {
		name     string
		tellings [][]control.Said
		want     string
	}{
		{"all of it again", [][]control.Said{
			{line(out, 1), line(err, 2)},
			{line(out, 1), line(err, 2), line(out, 3)},
		}, "o1 e2 o3"},
		{"nothing new", [][]control.Said{{line(out, 1)}, {line(out, 1)}}, "o1"},
		{"three", [][]control.Said{{line(out, 1)}, {line(out, 1), line(out, 2)}, {line(out, 1), line(out, 2), line(out, 3)}}, "o1 o2 o3"},
		{"what was seen is lost", [][]control.Said{
			{line(out, 1), line(out, 2)},
			{lost(out, 2), line(out, 3)},
		}, "o1 o2 o3"},
		{"more is lost than was seen", [][]control.Said{
			{line(out, 1), line(out, 2)},
			{lost(out, 5), line(out, 6), line(out, 7)},
		}, "o1 o2 o-3 o6 o7"},
		{"of both streams", [][]control.Said{
			{line(out, 1), line(err, 2)},
			{lost(out, 2), lost(err, 3), line(out, 6)},
		}, "o1 e2 o-1 e-2 o6"},
		{"what was told to be lost", [][]control.Said{
			{lost(out, 4), line(out, 5)},
			{lost(out, 5), line(out, 6)},
			{lost(out, 8), line(out, 9)},
		}, "o-4 o5 o6 o-2 o9"},
		{"lost in the second telling", [][]control.Said{
			{line(out, 1)},
			{line(out, 1), line(out, 2), lost(out, 3), line(out, 6)},
		}, "o1 o2 o-3 o6"},
		{"left behind while passing over", [][]control.Said{
			{line(out, 1), line(out, 2), line(out, 3)},
			{line(out, 1), lost(out, 5), line(out, 7)},
		}, "o1 o2 o3 o-3 o7"},
		{"from the newest on", [][]control.Said{
			{line(out, 98), line(out, 99)},
			{lost(out, 50), line(out, 51), line(out, 98), line(out, 99), line(out, 100)},
		}, "o98 o99 o100"},
	} {
		var r resumption
		var got []string
		show := func(x control.Said) {
			if x.Dropped > 0 {
				got = append(got, fmt.Sprintf("%c-%d", x.Stream[3], x.Dropped))
			} else {
				got = append(got, fmt.Sprintf("%c%d", x.Stream[3], x.Seq))
			}
		}
		for i, all := range c.tellings {
			if i > 0 {
				r.again()
			}
			for _, x := range all {
				before, tell := r.said(&x)
				for _, m := range before {
					show(m)
				}
				if tell {
					show(x)
				}
			}
		}
		text := strings.Join(got, " ")
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}
