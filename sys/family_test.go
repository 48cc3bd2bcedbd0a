//go:build linux || darwin

package sys

import (
	"slices"
	"testing"
)

func TestFamilyOf(t *testing.T) {
	leader := ID{PID: 100, Birth: 1}
	lead := kin{pid: 100, ppid: 50, pgrp: 100, session: 100, start: 1}
	deadLead := lead
	deadLead.dead = true
	child := func(pid, ppid, pgrp, session int) kin {
		return kin{pid: pid, ppid: ppid, pgrp: pgrp, session: session, start: uint64(pid)}
	}
	const self = 50
	supervisor := child(self, 1, self, self)
	for _, c := range []struct {
		name     string
		all      []kin
		byNumber bool
		known    map[int]uint64
		want     []int
	}{
		{"nobody", []kin{supervisor}, true, nil, nil},
		{"the leader alone", []kin{supervisor, lead}, true, nil, []int{100}},
		{"a held zombie is no member", []kin{supervisor, deadLead}, true, nil, nil},
		{"its group, orphaned", []kin{deadLead, child(101, 1, 100, 100)}, true, nil, []int{101}},
		{"its session, another group", []kin{deadLead, child(101, 1, 101, 100)}, true, nil, []int{101}},
		{"a descendant in its own session", []kin{lead, child(101, 100, 101, 101), child(102, 101, 102, 102)}, true, nil, []int{100, 101, 102}},
		{"listed before its parent", []kin{child(7, 102, 7, 7), lead, child(102, 100, 102, 102)}, true, nil, []int{7, 100, 102}},
		{"an escaped orphan is lost", []kin{deadLead, child(101, 1, 101, 101)}, true, nil, nil},
		{"unless it was seen before", []kin{deadLead, child(101, 1, 101, 101), child(102, 101, 102, 102)}, true, map[int]uint64{101: 101}, []int{101, 102}},
		{"a number seen before, used again", []kin{deadLead, child(101, 1, 101, 101)}, true, map[int]uint64{101: 5}, nil},
		{"the leader's number, used again", []kin{child(100, 1, 100, 100), child(101, 100, 100, 100)}, false, nil, nil},
		{"below a dead member", []kin{deadLead, child(101, 100, 101, 101)}, true, nil, []int{101}},
		{"never the supervisor, nor process 1", []kin{child(self, 1, 100, 100), child(1, 0, 100, 100)}, true, map[int]uint64{1: 1, self: self}, nil},
		{"strangers", []kin{lead, child(200, 1, 200, 200), child(201, 200, 200, 200)}, true, nil, []int{100}},
	} {
		var got []int
		for _, m := range familyOf(c.all, leader, c.byNumber, c.known, self) {
			got = append(got, m.pid)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
