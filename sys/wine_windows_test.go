package sys

import (
	"testing"

	"github.com/belfry-dev/belfry/windows"
)

// UnderWine is about the tests of both packages here.
var UnderWine = windows.Wine() != ""

// skipUnderWine skips a test of what Wine lacks.
func skipUnderWine(t *testing.T, lacks string) {
	t.Helper()
	if UnderWine {
		t.Skipf("Wine %s lacks: %s", windows.Wine(), lacks)
	}
}
