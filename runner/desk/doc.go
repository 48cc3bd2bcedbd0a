// Package desk shows jobs to whoever asks at a control endpoint: all of a store,
// or the one job that a run is. It hands out what they say and stops them, and
// adds nothing to either.
package desk
