package bench

import (
	"os"
	"testing"
)

// gated skips a comparison that fails when it is out of bounds, unless it was
// asked for: beside the tests of other packages it would measure those. `make
// gates` asks for it and runs nothing else meanwhile.
func gated(tb testing.TB) {
	tb.Helper()
	switch {
	case os.Getenv("BELFRY_GATES") == "":
		tb.Skip("a gate; make gates runs it")
	case raced:
		tb.Skip("the race detector changes what things cost")
	case testing.Short():
		tb.Skip("takes seconds")
	}
}
