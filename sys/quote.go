//go:build linux || darwin

package sys

import "strconv"

// quoteOdd quotes a name that a reader could not see whole, such as one that
// ends in a carriage return.
func quoteOdd(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
