//go:build unix

package sys

import (
	"fmt"
	"os"

	"github.com/creack/pty"
)

func openTerminal() (*Terminal, error) {
	master, child, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	return &Terminal{Output: &PipeReader{end: &pipeEnd{f: master, shared: true}}, Child: child, master: master}, nil
}

func takesColours(*os.File) bool { return true }

func (t *Terminal) sizeFrom(tty *os.File) error {
	if err := pty.InheritSize(tty, t.master); err != nil {
		return fmt.Errorf("size the terminal: %w", err)
	}
	return nil
}
