package sys

import (
	"os"

	"github.com/belfry-dev/belfry/darwin"
)

func stamp(path string) (FileStamp, error) {
	fi, err := darwin.Stat(path)
	if err != nil {
		return FileStamp{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return stampOf(fi), nil
}

func stampOf(fi darwin.FileInfo) FileStamp {
	return FileStamp{Dev: fi.Dev, Inode: fi.Inode, Size: fi.Size, Change: fi.Change}
}
