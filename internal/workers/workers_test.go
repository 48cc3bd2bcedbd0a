package workers

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestPool: all functions run at once, however many; then no more goroutines wait
// than may, these serve what comes next, and they leave with ctx.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, all = 3, 10
		ctx, cancel := context.WithCancel(t.Context())
		p := New(most)
		before := runtime.NumGoroutine()
		var together sync.WaitGroup
		together.Add(all)
		for range all {
			p.Do(ctx, func() {
				together.Done()
				together.Wait()
			})
		}
		synctest.Wait()
		together.Wait()
		if n := int(p.idle.Load()); n != most || runtime.NumGoroutine()-before != most {
			t.Errorf("%d wait and %d are there, want %d", n, runtime.NumGoroutine()-before, most)
		}
		ran := make(chan struct{})
		for range 100 {
			p.Do(ctx, func() { ran <- struct{}{} })
			<-ran
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; n != most {
			t.Errorf("%d are there after one after another, want %d", n, most)
		}
		cancel()
		synctest.Wait()
		if n := int(p.idle.Load()); n != 0 || runtime.NumGoroutine() != before {
			t.Errorf("%d wait after the end of their context", n)
		}
		p.Do(ctx, func() { ran <- struct{}{} })
		<-ran
		synctest.Wait()
		if n := int(p.idle.Load()); n != 0 {
			t.Errorf("%d wait although their context was over", n)
		}
	})
}
