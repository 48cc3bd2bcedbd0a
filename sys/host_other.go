//go:build !linux && !darwin && !windows

package sys

import (
	"fmt"
	"os"
	"runtime"
)

// newHost: what the package promises - the end observed before the number is
// given back, a tree that ends with its supervisor - is built per kernel, and
// for this one it is not.
func newHost(HostOptions) (Host, error) {
	return nil, fmt.Errorf("process trees on %s: %w", runtime.GOOS, ErrUnsupported)
}

// No host, no helper and no job that could inherit something.
func initProcess() {}

func stamp(path string) (FileStamp, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return FileStamp{}, err
	}
	dev, inode := fileNumbers(fi)
	return FileStamp{Dev: dev, Inode: inode, Size: fi.Size(), Change: fi.ModTime().UnixNano()}, nil
}
