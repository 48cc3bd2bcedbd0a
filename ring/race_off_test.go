//go:build !race

package ring

// raced tells that the race detector slows everything down.
const raced = false
