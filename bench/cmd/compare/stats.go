package main

import (
	"slices"
	"time"
)

// sample is one measurement of one side.
type sample struct {
	took  time.Duration
	cpu   time.Duration // 0: not known
	bytes int64         // moved, where bytes are moved
	value float64       // what is counted, where it is no time
}

// series are the samples of one side.
type series struct {
	side    string
	samples []sample
	failed  string // why there are none
}

func (s *series) sorted(of func(sample) float64) []float64 {
	var v []float64
	for _, x := range s.samples {
		v = append(v, of(x))
	}
	slices.Sort(v)
	return v
}

// at gives the value below which so many percent lie.
func at(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}

func seconds(s sample) float64 { return s.took.Seconds() }

// perGB is processor seconds a GB (10^9 bytes).
func perGB(s sample) float64 { return s.cpu.Seconds() / float64(s.bytes) * 1e9 }

// rounds measures each side in turns, so that what else the machine does meets
// all alike. A side that fails once is left out from then on, with its reason.
func rounds(n int, names []string, measure func(side string) (sample, error), say func(string, ...any)) []*series {
	all := make([]*series, len(names))
	for i, name := range names {
		all[i] = &series{side: name}
	}
	for k := range n {
		for _, s := range all {
			if s.failed != "" {
				continue
			}
			one, err := measure(s.side)
			if err != nil {
				s.failed = err.Error()
				say("%s is left out: %v", s.side, err)
				continue
			}
			s.samples = append(s.samples, one)
		}
		say("round %d of %d", k+1, n)
	}
	return all
}
