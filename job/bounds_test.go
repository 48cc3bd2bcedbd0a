package job

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBounds: each wait is ended after its own time, no other sooner, and none
// that was over before.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBounds(2 * time.Second)
		start := time.Now()
		done := b.begin()
		b.end(done)
		first := b.begin()
		time.Sleep(time.Second)
		second := b.begin()
		for i, w := range []*bound{first, second} {
			<-w.late
			if got, want := time.Since(start), time.Duration(2+i)*time.Second; got != want {
				t.Errorf("wait %d is late after %v, want %v", i, got, want)
			}
			b.end(w) // too late, and no harm
		}
		if closed(done.late) {
			t.Error("a wait that was over was ended")
		}
		// The timer has met none and is off; the next wait has it on again.
		time.Sleep(time.Minute)
		if b.armed {
			t.Error("the timer goes on without a wait")
		}
		start = time.Now()
		<-b.begin().late
		if got := time.Since(start); got != b.limit {
			t.Errorf("a wait after a pause is late after %v", got)
		}
	})
}
