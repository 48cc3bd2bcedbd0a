//go:build unix && !linux

package e2e

// wantNone looks for nothing, as proc_other_test.go says.
func (s *server) wantNone(string) {}
