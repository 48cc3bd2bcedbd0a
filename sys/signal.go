package sys

import (
	"fmt"
	"slices"
	"strings"
)

// Signal is a signal of this operating system by its number; 0 is none. The
// names that every system knows are constants (SIGTERM and so on); where a
// system cannot send one, Tree.Signal says so.
type Signal int

// String gives the name with its prefix, "SIGTERM"; "SIG<n>" for one that has
// no name here.
func (s Signal) String() string {
	for _, t := range signalTable() {
		if t.num == s {
			return t.name
		}
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// ParseSignal reads a signal's name, "SIGTERM" or "TERM", in any case. The
// error names what is accepted.
func ParseSignal(name string) (Signal, error) {
	want := strings.ToUpper(name)
	if !strings.HasPrefix(want, "SIG") {
		want = "SIG" + want
	}
	table := signalTable()
	for _, t := range table {
		if t.name == want {
			return t.num, nil
		}
	}
	names := make([]string, 0, len(table))
	for _, t := range table {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return 0, fmt.Errorf("unknown signal %q: known are %s", name, strings.Join(slices.Compact(names), ", "))
}

// namedSignal is one row of a system's signalTable. Where two names share a
// number the first row is the one that String gives.
type namedSignal struct {
	name string
	num  Signal
}
