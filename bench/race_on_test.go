//go:build race

package bench

// raced tells that the race detector slows everything down.
const raced = true
