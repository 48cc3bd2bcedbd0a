package bench

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// many measures sixty-four jobs that print at once, sixty-four times cat, and one
// process that does no more than read, all from a common start.
type many struct {
	ours, cats, floor    figures
	spreads, catsSpreads []float64 // the slowest by the fastest
	round                func()
}

const (
	manyJobs  = 64
	manyBytes = 8_000_000 // of each
)

func newMany(t *testing.T, b belfry) *many {
	t.Helper()
	g := gate(t.TempDir())
	if err := g.make(); err != nil {
		t.Fatal(err)
	}
	argv := helperArgv("pour", strconv.Itoa(manyBytes), "64000", string(g))
	c := b.connect(t, fmt.Sprintf("BELFRY_MAX_CONCURRENT_JOBS=%d", manyJobs), argv[0])
	m := &many{}
	m.round = func() {
		took, spread := atOnce(t, g, manyJobs, func() (poured, error) {
			p, _, err := pourIntoCat(argv)
			return p, err
		})
		m.cats, m.catsSpreads = append(m.cats, took), append(m.catsSpreads, spread)
		took, spread = atOnce(t, g, manyJobs, func() (p poured, err error) {
			id := begin(t, c, argv...)
			finish(t, c, id)
			page := tool(t, c, "output", map[string]any{"job_id": id, "stream": "stderr"})
			return pouredOf(page.Events[0].Text)
		})
		m.ours, m.spreads = append(m.ours, took), append(m.spreads, spread)
		m.floor = append(m.floor, pourTogether(t, "gather", g, manyJobs, argv).took)
	}
	return m
}

// byCat reports what ours takes next to cat, and wants it to stay within most.
func (m *many) byCat(t *testing.T, most float64) {
	t.Helper()
	best := float64(m.ours.at(0)) / float64(m.cats.at(0))
	median := float64(m.ours.at(50)) / float64(m.cats.at(50))
	t.Logf("%d times cat: %v; ours %v; ours by that: bests %.2f, medians %.2f, at most %.2f", manyJobs, m.cats, m.ours, best, median, most)
	if min(best, median) > most {
		t.Errorf("%d jobs take %.2f times as long as %d times cat", manyJobs, min(best, median), manyJobs)
	}
}

// manyGate holds these twice: as the kernel shares the processor between all that
// there is on this machine, and undisturbed, where that is permitted.
//
// The kernel may share it by sessions first. Sixty-four cats have sixty-four shares
// of a busy machine then, and one server has one, as the one process that reads has:
// the first bound next to cat is that of such a machine. What goes before all else is
// shared by none of that, and what runs before the others ends before them: so how far
// apart the first and the last end is held in the first part alone.
func manyGate(t *testing.T, b belfry) {
	m := newMany(t, b)
	compare(t, fmt.Sprintf("%d jobs of %d MB at once, next to one process", manyJobs, int(manyBytes/1e6)), 1.25, func() (ours, floor figures) {
		before := len(m.ours)
		for range 8 {
			m.round()
		}
		return m.ours[before:], m.floor[before:]
	})
	m.byCat(t, 1.9)
	slices.Sort(m.spreads)
	slices.Sort(m.catsSpreads)
	t.Logf("slowest by fastest: ours best %.2f, median %.2f; cat's best %.2f, median %.2f",
		m.spreads[0], m.spreads[len(m.spreads)/2], m.catsSpreads[0], m.catsSpreads[len(m.catsSpreads)/2])
	if most := 1.5 * max(1, m.catsSpreads[0]); m.spreads[0] > most {
		t.Errorf("the slowest job takes %.2f times as long as the fastest, more than %.2f", m.spreads[0], most)
	}
	if !undisturbed(t) {
		return
	}
	m = newMany(t, b)
	for range 4 {
		m.round()
	}
	m.byCat(t, 1/0.9)
}
