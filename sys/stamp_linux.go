package sys

import (
	"os"
	"syscall"
)

func stamp(path string) (FileStamp, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Stat(path, &st)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return FileStamp{}, &os.PathError{Op: "stat", Path: path, Err: err}
		}
		return stampOf(&st), nil
	}
}

func stampOf(st *syscall.Stat_t) FileStamp {
	return FileStamp{Dev: uint64(st.Dev), Inode: uint64(st.Ino), Size: st.Size, Change: st.Ctim.Nano()}
}
