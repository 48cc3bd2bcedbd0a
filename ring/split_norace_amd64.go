//go:build !race

package ring

// tellRace does nothing without the race detector.
func tellRace([]byte, int, []uint32) {}
