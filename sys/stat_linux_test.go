package sys

import (
	"os"
	"os/exec"
	"testing"

	"github.com/belfry-dev/belfry/linux"
)

// TestStatHeld: as many as may be are held open, those beyond are read all the same,
// and each place is given back once.
func TestStatHeld(t *testing.T) {
	const more = 3
	before := heldStats.Load()
	self, err := identify(os.Getpid(), -1)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]stat, mostHeldStats+more)
	for i := range all {
		if st, err := all[i].read(self); err != nil || st.PID != self.PID {
			t.Errorf("%d: %+v, %v", i, st, err)
		}
	}
	if n := heldStats.Load(); n != mostHeldStats {
		t.Errorf("%d are held, want %d", n, mostHeldStats)
	}
	for range 2 {
		for i := range all {
			all[i].close()
		}
	}
	if n := heldStats.Load(); n != before {
		t.Errorf("%d are held after their ends, want %d", n, before)
	}
	if st, err := all[0].read(self); err != nil || st.PID != self.PID || heldStats.Load() != before {
		t.Errorf("after the end: %+v, %v, %d held", st, err, heldStats.Load())
	}
}

// TestStatOfReaped: nothing is known of a process that was reaped, whoever has its
// number then.
func TestStatOfReaped(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	st, err := linux.ReadStat("/proc", cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	id := ID{PID: st.PID, Birth: st.Start}
	var s stat
	defer s.close()
	if _, err := s.read(id); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if st, err := s.read(id); err == nil {
		t.Errorf("after its end: %+v", st)
	}
}
