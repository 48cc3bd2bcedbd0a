package runner

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Whatever is asked for and however it ends: every line that is written is
// valid, and the stream ends with its only end. do checks both.
func TestEveryRunIsValid(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	maybe := func(f func()) {
		if rnd.IntN(3) == 0 {
			f()
		}
	}
	for range 25 {
		name, args := "exit", []string{"3"}
		switch rnd.IntN(4) {
		case 0:
			name, args = "both", []string{"2000"}
		case 1:
			name, args = "sleep", []string{"3600"}
		case 2:
			name, args = "bytes", []string{"100000"}
		}
		o := helper(t, name, args...)
		if name == "sleep" {
			o.Timeout = 50 * time.Millisecond
		}
		maybe(func() { o.IdleTimeout = time.Duration(1+rnd.IntN(20)) * time.Millisecond })
		maybe(func() { o.Timeout = time.Duration(1+rnd.IntN(60)) * time.Millisecond })
		maybe(func() { g := time.Duration(rnd.IntN(30)) * time.Millisecond; o.Grace = &g })
		maybe(func() { o.SnapshotInterval = time.Millisecond })
		maybe(func() { o.CaptureDir, o.CaptureMax, o.CaptureCancel = t.TempDir(), 1000, rnd.IntN(2) == 0 })
		maybe(func() { o.ArgvRaw = true; o.Argv = append(o.Argv, "\xff\u202e<&>\n") })
		maybe(func() { o.NoEcho = true })
		maybe(func() { o.Schema = SchemaDetailed })
		maybe(func() { o.Labels = map[string]string{"a": "<&>", "b": ""} })
		maybe(func() { o.Argv[0] = "no-such-program" })
		maybe(func() { o.Limits = sys.Limits{CPUs: 1} })
		do(t, o)
	}
}
