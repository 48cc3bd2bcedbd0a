package bench

import (
	"runtime"
	"testing"

	"github.com/belfry-dev/belfry/job"
)

// TestJobMemoryGate: what an ended job costs beside its text, a job whose output
// was reclaimed, and one that never had any.
func TestJobMemoryGate(t *testing.T) {
	gated(t)
	const jobs, warm = 400, 40
	for _, c := range []struct {
		name     string
		command  []string
		retained int
		most     int64
	}{
		{"ended", []string{"/bin/echo", "hello"}, 2 * jobs, 4 << 10},
		{"reclaimed", []string{"/bin/echo", "hello"}, 1, 1 << 10},
		{"silent", []string{spawned}, 2 * jobs, 1 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			retained := c.retained
			s := storeFor(t, c.command[0], job.Config{MaxRetained: &retained})
			run := func(n int) {
				for range n {
					j, err := s.Run(t.Context(), job.Spec{Command: c.command})
					if err != nil {
						t.Fatal(err)
					}
					<-j.Done()
				}
			}
			run(warm)
			before := heap()
			run(jobs)
			each := (heap() - before) / jobs
			t.Logf("%d bytes a job", each)
			if each > c.most {
				t.Errorf("an %s job takes %d bytes, more than %d", c.name, each, c.most)
			}
			runtime.KeepAlive(s)
		})
	}
}
