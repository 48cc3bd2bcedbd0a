package systest

import "testing"

// SkipUnderWine skips a test of what Wine lacks and Windows has.
func SkipUnderWine(t testing.TB, lacks string) {
	t.Helper()
	if underWine() {
		t.Skip("Wine: " + lacks)
	}
}
