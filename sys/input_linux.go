package sys

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// PolledInput gives a reader of f that waits in the runtime's poller and has read
// deadlines, where f is a pipe or a stream socket: a thread that waits in a read of
// its own hands what it has read to another one, which takes longer than many an
// answer. The flags of f, which it may share with others, stay as they are; it must
// stay open. Anything else is given back as it is, as is what may not be opened.
func PolledInput(f *os.File) io.Reader {
	st, err := f.Stat()
	if err != nil {
		return f
	}
	switch st.Mode().Type() {
	case fs.ModeNamedPipe:
		if !linux.IsReadable(int(f.Fd())) {
			// Opened once more it could be read, and would be for ever: f holds its
			// other end.
			return f
		}
		// Opened once more it has flags of its own. It may be another user's, or /proc
		// be hidden.
		if own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			return own
		}
	case fs.ModeSocket:
		if s, err := linux.NewStream(f); err == nil {
			return s
		}
	}
	return f
}
