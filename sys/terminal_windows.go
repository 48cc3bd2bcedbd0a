package sys

import (
	"fmt"
	"os"

	"github.com/belfry-dev/belfry/windows"
)

func openTerminal() (*Terminal, error) {
	return nil, fmt.Errorf("a terminal of its own: %w", ErrUnsupported)
}

// takesColours leaves the console as it asks it to be, which others share: so do
// the other programs that write colours there.
func takesColours(tty *os.File) bool { return windows.AskForSequences(tty) == nil }

func (t *Terminal) sizeFrom(*os.File) error { return ErrUnsupported }

func foreground(*os.File, ID) (func() error, error) { return nil, nil }

func ourTerminal(*os.File) bool { return false }

func inOurSession(ID) bool { return true }
