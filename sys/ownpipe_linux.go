package sys

import (
	"fmt"
	"os"
	"syscall"
)

// OwnPipe opens the reading end of a pipe once more, so that it waits in the
// runtime's poller: a thread that waits in a read of its own hands what it has read
// to another one, which takes longer than many an answer. The flags of f, which it
// may share with others, stay as they are, and f stays open. Anything but a pipe is
// given back as it is, as is a pipe that may not be opened.
func OwnPipe(f *os.File) *os.File {
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		return f
	}
	own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f // it is another user's, or /proc is hidden
	}
	return own
}
