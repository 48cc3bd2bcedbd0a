package sys_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("win-alloc", winAlloc)
}

// winAlloc touches 512 MiB.
func winAlloc([]string) int {
	b := make([]byte, 512<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	fmt.Println("allocated", len(b))
	return 0
}

// TestLimitsHoldOrNothingRuns: a limit is in force when the leader runs, or
// nothing runs and the error says which limit it is and why.
func TestLimitsHoldOrNothingRuns(t *testing.T) {
	h := host(t)
	for name, tt := range map[string]struct {
		limits  sys.Limits
		helper  string
		refused sys.LimitReason // under Wine
	}{
		"memory": {sys.Limits{MemoryBytes: 128 << 20}, "win-alloc", sys.LimitReadbackMismatch},
		"tasks":  {sys.Limits{Tasks: 2}, "win-tree", sys.LimitReadbackMismatch},
		"cpus":   {sys.Limits{CPUs: 0.25}, "win-wait", sys.LimitWriteRejected},
	} {
		t.Run(name, func(t *testing.T) {
			sp := command(tt.helper, "stay")
			sp.Limits = tt.limits
			if sys.UnderWine {
				null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer null.Close()
				sp.Stdio = [3]*os.File{null, null, null}
				tree, err := h.Start(t.Context(), sp)
				if err == nil {
					tree.Release()
				}
				se, ok := errors.AsType[*sys.StartError](err)
				if !ok || se.Code != sys.CodeLimitUnavailable || len(se.Limits) != 1 {
					t.Fatalf("%v, %+v", err, se)
				}
				if r := se.Limits[0]; r.Enforced || r.Applied != 0 || r.Reason != tt.refused || r.Detail == "" || !strings.Contains(r.Remedy, "Wine") {
					t.Errorf("%+v", r)
				}
				return
			}
			r := launch(t, h, sp)
			if l := r.Limits(); len(l) != 1 || !l[0].Enforced || l[0].Applied == 0 || l[0].Reason != "" {
				t.Errorf("%+v", l)
			}
			r.in.Close() // helpers that wait go on
			within(t, "the leader's end", r.Exited())
			e, met := r.Exit(), r.Evidence()
			switch name {
			case "memory":
				if e.Code == 0 || met.Memory == sys.NotTripped || met.Tasks != sys.NotTripped {
					t.Errorf("%+v, %+v", e, met)
				}
			case "tasks": // the leader and one more
				if e.Code != 1 || met.Tasks == sys.NotTripped || met.Memory != sys.NotTripped {
					t.Errorf("%+v, %+v", e, met)
				}
			case "cpus":
				if e.Code != 7 || met.CPUs != sys.EvidenceUnknown {
					t.Errorf("%+v, %+v", e, met)
				}
			}
		})
	}
}
