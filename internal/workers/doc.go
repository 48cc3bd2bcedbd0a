// Package workers runs short functions in great number on goroutines that are used
// again.
package workers
