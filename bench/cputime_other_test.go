//go:build !unix

package bench

import "time"

// spent gives the time since some moment: the nearest to processor time that the
// standard library has here.
func spent() time.Duration { return time.Since(epoch) }
