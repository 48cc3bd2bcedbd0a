package main

import (
	"fmt"
	"os"
	"time"
)

const (
	wide       = 600 // characters of a call or an answer that are shown
	shownLines = 4   // lines of a page that are shown
)

func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

func clip(s string) string {
	r := []rune(s)
	if len(r) <= wide {
		return s
	}
	return string(r[:wide]) + fmt.Sprintf(" … %d more characters", len(r)-wide)
}

func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
