package linux

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statLine builds a line with a given name, as the kernel would.
func statLine(comm string) string {
	return "4711 (" + comm + ") S 1 4700 4690 34816 4700 4194304 100 0 0 0 5 7 -1 2 20 0 3 0 987654 1 2 3\n"
}

func TestParseStat(t *testing.T) {
	want := Stat{PID: 4711, State: 'S', PPID: 1, Pgrp: 4700, Session: 4690, Threads: 3, CPU: 14, Start: 987654}
	for _, comm := range []string{"sh", "", " ", "a) R 1 2\n(x", ")", "(", ") S 1 2 3 4", "é\xff\x00", strings.Repeat(")", 15)} {
		want := want
		want.Comm = comm
		got, err := ParseStat([]byte(statLine(comm)))
		if err != nil {
			t.Errorf("%q: %v", comm, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", comm, d)
		}
	}
}

func TestParseStatRefuses(t *testing.T) {
	good := statLine("sh")
	for _, bad := range []string{
		"", "\n", "4711", "4711 sh S 1", "(sh) S 1 2 3", "4711(sh) S 1",
		good[:20],
		strings.Replace(good, "4711", "x", 1),
		strings.Replace(good, "4711", "99999999999", 1),
		strings.Replace(good, "4711", "-2", 1),
		strings.Replace(good, " S ", " SS ", 1),
		strings.Replace(good, " S 1 ", " S one ", 1),
		strings.Replace(good, "4700", "?", 1),
		strings.Replace(good, "4690", "?", 1),
		strings.Replace(good, "987654", "-1", 1),
		strings.Replace(good, " 5 7 ", " 5 x ", 1),
		strings.Replace(good, " 20 0 3 ", " 20 0 x ", 1),
	} {
		if got, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		state         byte
		threads       int
		dead, stopped bool
	}{
		{'R', 1, false, false}, {'D', 1, false, false}, {'Z', 1, true, false}, {'Z', 0, true, false},
		{'Z', 2, false, false}, {'X', 1, true, false}, {'T', 1, false, true}, {'t', 1, false, true},
	} {
		s := Stat{State: c.state, Threads: c.threads}
		if s.Dead() != c.dead || s.Stopped() != c.stopped {
			t.Errorf("%c with %d threads: dead %v, stopped %v", c.state, c.threads, s.Dead(), s.Stopped())
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine("sh")))
	f.Add([]byte(statLine(") S 1 (")))
	f.Add([]byte("1 () Z"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseStat(b)
		if err != nil {
			return
		}
		// What was understood, written again, is understood the same.
		line := fmt.Sprintf("%d (%s) %c %d %d %d 0 0 0 0 0 0 0 %d 0 0 0 0 0 %d 0 %d 0",
			s.PID, s.Comm, s.State, s.PPID, s.Pgrp, s.Session, s.CPU, s.Threads, s.Start)
		if s.CPU > 1<<62 {
			return // a sum of four that no single field can hold
		}
		again, err := ParseStat([]byte(line))
		if err != nil || again != s {
			t.Errorf("%+v, again %+v %v", s, again, err)
		}
		if !bytes.Contains(b, []byte(s.Comm)) {
			t.Errorf("the name %q is not in the line", s.Comm)
		}
	})
}
