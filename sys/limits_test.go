package sys

import (
	"math"
	"strings"
	"testing"
)

func TestLimitsAreChecked(t *testing.T) {
	for _, l := range []Limits{{MemoryBytes: -1}, {MemoryBytes: 1<<53 + 1}, {Tasks: -1}, {CPUs: -0.5},
		{CPUs: math.NaN()}, {CPUs: math.Inf(1)}} {
		if l.validate() == nil {
			t.Errorf("%+v passes", l)
		}
	}
	for _, l := range []Limits{{}, {MemoryBytes: 1}, {MemoryBytes: 1 << 53, Tasks: 1, CPUs: 0.001}} {
		if err := l.validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// A refusal has one record for each limit that was asked for, and no other.
func TestLimitRefusalNamesEach(t *testing.T) {
	e := Limits{MemoryBytes: 4096, CPUs: 0.5}.refuseAll(CgroupV2, LimitNotDelegated, "no", "do this")
	if e.Code != CodeLimitUnavailable || len(e.Limits) != 2 {
		t.Fatalf("%+v", e)
	}
	m, c := e.Limits[0], e.Limits[1]
	if m.Limit != LimitMemory || m.Requested != 4096 || c.Limit != LimitCPUs || c.Requested != 0.5 || m.Enforced || m.Applied != 0 {
		t.Errorf("%+v", e.Limits)
	}
	for _, part := range []string{"memory_bytes", "not_delegated: no (do this)", "cpus"} {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("%q lacks %q", e.Error(), part)
		}
	}
}
