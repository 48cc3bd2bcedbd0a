package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// renamePatience is how long a rename is tried again, every renamePause.
	renamePatience = time.Second
	renamePause    = 5 * time.Millisecond

	errSharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
)

// renameOver renames within one directory. A file of the new name may be open in
// another program, if that shares its removal as OpenShared does: os.Rename is
// refused then, where Root asks for the semantics of POSIX (Windows 10 1607,
// NTFS). Where these cannot be had, and for programs that share nothing, such as
// a virus scanner, it is tried again for a while: who reads is done soon.
func renameOver(from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer root.Close()
	for tries := renamePatience / renamePause; ; tries-- {
		err := root.Rename(filepath.Base(from), filepath.Base(to))
		inTheWay := errors.Is(err, fs.ErrPermission) || errors.Is(err, errSharing)
		if inTheWay && tries > 0 {
			<-time.After(renamePause)
			continue
		}
		if link, ok := errors.AsType[*os.LinkError](err); ok {
			link.Old, link.New = from, to
		}
		return err
	}
}
