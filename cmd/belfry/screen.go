package main

import (
	"os"
	"strings"

	"github.com/belfry-dev/belfry/sys"
	"golang.org/x/term"
)

// screen is what stdout leads to.
type screen struct {
	coloured bool
	width    int // in cells; 0: no terminal, or one that does not tell
}

// screen looks at stdout. Colours are for a terminal whose user has not refused
// them with NO_COLOR, and that is not a dumb one.
func (a *App) screen() screen {
	out, ok := a.Stdout.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return screen{}
	}
	var s screen
	if width, _, err := term.GetSize(int(out.Fd())); err == nil {
		s.width = width
	}
	s.coloured = a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb" && sys.TakesColours(out)
	return s
}

// The colours, as a terminal is told them.
const (
	plainText = "\x1b[0m"
	bold      = "\x1b[1m"
	faint     = "\x1b[2m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
)

// paint gives a text its colour, which is one of the above or "".
func (s screen) paint(text, colour string) string {
	if !s.coloured || colour == "" || text == "" {
		return text
	}
	return colour + text + plainText
}

// stateColour is the colour of a state, whichever verb shows it: green for what
// lives and works, yellow for what is uncertain or not there yet, red for what went
// wrong, faint for what is over.
func stateColour(state string) string {
	word, rest, _ := strings.Cut(state, " ")
	switch word {
	case "starting", "running", "live", "inspected", "ok", "yes", "best", "qualified":
		return green
	case "queued", "ending", "unprobed", "unknown", "no":
		return yellow
	case "failed", "FAILED", "stale", "not":
		return red
	case "exited":
		if rest != "" && rest != "0" {
			return red
		}
	}
	return faint
}
