//go:build !linux && !darwin && !windows

package sys

import (
	"io/fs"
	"syscall"
)

// What waits cannot be asked without x/sys here; a reader that needs to know
// reads without waiting.
func pipeBuffered(int) (int, error) { return 0, ErrUnsupported }

func pipeGrow(int, int) int { return 0 }

func fileNumbers(fi fs.FileInfo) (dev, inode uint64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino)
	}
	return 0, 0
}
