// Package systest lets tests start real processes without a program beside
// the test binary: the binary starts itself again as a named helper. A test
// that starts trees has this TestMain and nothing else in it:
//
//	func TestMain(m *testing.M) { systest.Main(m) }
//
// Main ends with leak checks: goroutines, descriptors, unreaped children and
// control groups. Only tests import this package.
package systest
