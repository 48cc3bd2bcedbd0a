package main

import (
	"strings"
	"testing"
)

func sample() *table {
	t := &table{columns: []column{{head: "ID"}, {head: "STATE"}, {head: "FILE", least: 8, path: true}, {head: "NOTE", least: 6},
		{head: "MORE", spare: 1}, {head: "MOST", spare: 2}}}
	t.add(cell{"run-1234567890", ""}, cell{"running", green}, cell{"/home/user/logs/run.jsonl", ""}, cell{"a note of some length", ""},
		cell{"more", ""}, cell{"most", faint})
	t.add(cell{"b", ""}, cell{"exited 0", faint}, cell{"-", ""}, cell{"-", ""}, cell{"-", ""}, cell{"-", ""})
	return t
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name string
		s    screen
		want string
	}{
		{"a pipe has all", screen{}, `
ID              STATE     FILE                       NOTE                   MORE  MOST
run-1234567890  running   /home/user/logs/run.jsonl  a note of some length  more  most
b               exited 0  -                          -                      -     -
`},
		{"so has a wide terminal", screen{width: 86}, `
ID              STATE     FILE                       NOTE                   MORE  MOST
run-1234567890  running   /home/user/logs/run.jsonl  a note of some length  more  most
b               exited 0  -                          -                      -     -
`},
		{"the longest gives way", screen{width: 72}, `
ID              STATE     FILE              NOTE              MORE  MOST
run-1234567890  running   …/logs/run.jsonl  a note of some …  more  most
b               exited 0  -                 -                 -     -
`},
		{"then the least needed", screen{width: 50}, `
ID              STATE     FILE      NOTE      MORE
run-1234567890  running   …n.jsonl  a note …  more
b               exited 0  -         -         -
`},
		{"never what is copied", screen{width: 10}, `
ID              STATE     FILE      NOTE
run-1234567890  running   …n.jsonl  a not…
b               exited 0  -         -
`},
		{"colours widen nothing", screen{coloured: true, width: 10}, `
#bID#-              #bSTATE#-     #bFILE#-      #bNOTE#-
run-1234567890  #grunning#-   …n.jsonl  a not…
b               #fexited 0#-  -         -
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.NewReplacer("#b", bold, "#g", green, "#f", faint, "#-", plainText).Replace(strings.TrimPrefix(c.want, "\n"))
			got := sample().text(c.s)
			if got != want {
				t.Errorf("%+v gives\n%q\nwant\n%q", c.s, got, want)
			}
		})
	}
}

// No row of a terminal is wider than it, as long as cutting can do that.
func TestTableFits(t *testing.T) {
	for width := 42; width < 100; width++ {
		for _, line := range strings.Split(sample().text(screen{width: width}), "\n") {
			if cells(line) > width {
				t.Errorf("%d cells in a terminal of %d: %s", cells(line), width, line)
			}
		}
	}
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "日本": 4, "e\u0301": 1, "😀": 2, "ｱ": 1, "…": 1, "한": 2} {
		if got := cells(s); got != want {
			t.Errorf("%q takes %d cells, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s          string
		n          int
		end, start string
	}{
		{"abc", 3, "abc", "abc"}, {"abcd", 3, "ab…", "…cd"}, {"日本語", 4, "日…", "…語"}, {"日本語", 5, "日本…", "…本語"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "…e\u0301"}, {"abc", 1, "…", "…"},
	} {
		if got := cutEnd(c.s, c.n); got != c.end {
			t.Errorf("the beginning of %q in %d cells is %q, want %q", c.s, c.n, got, c.end)
		}
		if got := cutStart(c.s, c.n); got != c.start {
			t.Errorf("the end of %q in %d cells is %q, want %q", c.s, c.n, got, c.start)
		}
	}
}

// The states of all verbs mean the same by their colour.
func TestStateColours(t *testing.T) {
	for colour, states := range map[string][]string{
		green:  {"running", "starting", "live", "inspected", "ok", "yes", "best", "qualified"},
		yellow: {"queued 3", "ending", "unprobed", "unknown", "no"},
		red:    {"failed", "FAILED", "stale", "exited 1", "not qualified"},
		faint:  {"exited 0", "exited", "killed SIGTERM", "killed", "already_gone"},
	} {
		for _, s := range states {
			if stateColour(s) != colour {
				t.Errorf("%s has the colour %q, want %q", s, stateColour(s), colour)
			}
		}
	}
}
