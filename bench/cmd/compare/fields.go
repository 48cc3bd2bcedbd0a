package main

import (
	"fmt"
	"strings"
)

// fields reads "Name: number unit" lines; what has no number is left out.
func fields(text string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ":")
		var n int64
		if _, err := fmt.Sscan(rest, &n); found && err == nil {
			all[name] = n
		}
	}
	return all
}
