package sys_test

import (
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// TestDeliveryCountsTheLiving: a signal to a leader that has ended, noticed or
// not, reached nobody, and one that ends its members at once reached them all.
func TestDeliveryCountsTheLiving(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		for range rounds(t, 50) {
			r := start(t, h, nil, "exit", "0")
			for !r.Ended() {
			}
			if d, err := r.Signal(sys.SIGTERM); err != nil || d.Sent != 0 {
				t.Fatalf("to an ended leader: %+v %v", d, err)
			}
		}
		r := start(t, h, nil, "counters")
		for range 3 {
			r.line(t)
		}
		if d, err := r.Signal(sys.SIGKILL); err != nil || d.Sent != 3 {
			t.Errorf("kill: %+v %v", d, err)
		}
		wait(t, "empty", r.Empty())
	})
}
