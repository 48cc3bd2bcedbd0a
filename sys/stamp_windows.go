package sys

import "github.com/belfry-dev/belfry/windows"

func stamp(path string) (FileStamp, error) {
	id, err := windows.ReadFileID(path)
	return stampOf(id), err
}

func stampOf(id windows.FileID) FileStamp {
	return FileStamp{Dev: id.Volume, Inode: id.Index, Size: id.Size, Change: id.Written}
}
