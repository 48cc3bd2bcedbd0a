package sys_test

import (
	"os"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// TestStrictSees: what the pid namespace changes for a job: it sees its own
// processes alone, and can gain no rights.
func TestStrictSees(t *testing.T) {
	h := newHost(t, sys.PIDNamespace)
	needs(t, h, sys.PIDNamespace)
	r := program(t, h, "/bin/sh", "-c",
		"echo $$ $PPID; ls /proc | grep -c '^[0-9]'; kill -9 1; grep -E 'NoNewPrivs|CapPrm|CapEff|CapInh|CapAmb' /proc/self/status; sleep 60 & echo both; wait")
	if got := r.line(t); got != "2 1" && !strings.HasSuffix(got, " 1") {
		t.Errorf("number and parent %q", got)
	}
	if got := r.line(t); len(got) != 1 {
		t.Errorf("%s processes show in /proc", got)
	}
	zero := "0000000000000000"
	rights := zero
	if os.Geteuid() == 0 {
		rights = "" // those of container engines; see linux.ContainerCapabilities
	}
	for _, want := range []string{"CapInh:\t" + zero, "CapPrm:\t" + rights, "CapEff:\t" + rights, "CapAmb:\t" + zero, "NoNewPrivs:\t1"} {
		got := r.line(t)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if os.Geteuid() == 0 && strings.HasPrefix(got, "CapEff") && !strings.HasPrefix(got, "CapEff:\t00000000a0") {
			t.Errorf("root in a namespace may %q", got)
		}
	}
	r.line(t) // both: the shell has its child
	if id, err := h.Lookup(r.Leader().PID); err != nil || id.Same(r.Leader()) != sys.Yes {
		t.Errorf("outside it is %+v, %v, told %+v", id, err, r.Leader())
	}
	list, how := r.Members()
	if len(list) != 2 || how != sys.Exact {
		t.Errorf("members %v, completeness %d", list, how)
	}
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeTree {
		t.Errorf("%+v", g)
	}
}
