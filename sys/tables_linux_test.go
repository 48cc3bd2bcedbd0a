package sys

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Those who ask during a reading share the next one, which is never one that
// began before they asked.
func TestTablesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readings := 0
		tb := newTables(func() ([]kin, error) {
			readings++
			n := readings
			time.Sleep(time.Second)
			return []kin{{pid: n}}, nil
		})
		var wg sync.WaitGroup
		ask := func(after time.Duration, want int) {
			wg.Go(func() {
				time.Sleep(after)
				all, err := tb.read()
				if err != nil || len(all) != 1 || all[0].pid != want {
					t.Errorf("asked after %v: reading %v %v, want %d", after, all, err, want)
				}
			})
		}
		ask(0, 1)
		for range 50 {
			ask(500*time.Millisecond, 2) // during the first
			ask(1500*time.Millisecond, 3)
		}
		wg.Wait()
		if readings != 3 {
			t.Errorf("%d readings, want 3", readings)
		}
		if all, err := tb.read(); err != nil || all[0].pid != 4 {
			t.Errorf("asked alone: %v %v, want a reading of its own", all, err)
		}
	})
}
