package bench

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
)

// TestPour: the writer of the ingest gate writes all it is asked for and tells
// how long that took.
func TestPour(t *testing.T) {
	p, _, err := pourIntoCat(helperArgv("pour", "640000", "80"))
	if err != nil || p.took <= 0 {
		t.Errorf("%+v %v", p, err)
	}
}

// TestGate: whoever waits at the gate goes on when all are there.
func TestGate(t *testing.T) {
	g := gate(t.TempDir())
	if err := g.make(); err != nil {
		t.Fatal(err)
	}
	argv := helperArgv("pour", "64000", "64000", string(g))
	for range 2 {
		took, spread := atOnce(t, g, 3, func() (poured, error) {
			p, _, err := pourIntoCat(argv)
			return p, err
		})
		if took <= 0 || spread < 1 {
			t.Errorf("took %v, spread %v", took, spread)
		}
		for _, name := range []string{"gather", "gather-poll"} {
			if all := pourTogether(t, name, g, 3, argv); all.took <= 0 || all.spread < 1 || all.cpu <= 0 {
				t.Errorf("%s: %+v", name, all)
			}
		}
	}
}

// TestStamp: a blocking read hears of every line after it was written.
func TestStamp(t *testing.T) {
	all := lateBlocking(t, helperArgv("stamp"))
	if len(all) != stampCount || all.at(0) <= 0 {
		t.Errorf("%d lines, earliest after %v", len(all), all.at(0))
	}
}

// TestAlternate: all lines of both streams are there, those of each in order.
func TestAlternate(t *testing.T) {
	const lines = 300
	argv := append(helperArgv("alternate"), fmt.Sprint(lines), "5", "20000")
	s := storeFor(t, argv[0], job.Config{})
	j, err := s.Run(t.Context(), job.Spec{Command: argv})
	if err != nil {
		t.Fatal(err)
	}
	<-j.Done()
	page := j.Output(job.Query{Sel: ring.SelBoth, Budget: 16 << 20})
	if len(page.Lines) != lines {
		t.Errorf("%d lines, want %d", len(page.Lines), lines)
	}
	highest := map[ring.Kind]int{ring.Stdout: -1, ring.Stderr: -1}
	for _, l := range page.Lines {
		n, err := strconv.Atoi(l.Text)
		if err != nil || n <= highest[l.Kind] {
			t.Fatalf("%v says %q after %d", l.Kind, l.Text, highest[l.Kind])
		}
		highest[l.Kind] = n
	}
}
