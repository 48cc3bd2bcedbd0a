package sys

import (
	"errors"
	"os"
	"path/filepath"
)

// renameOver renames within one directory. A file of the new name may be open in
// another program, if that shares its removal as OpenShared does: os.Rename is
// refused then, where Root asks for the semantics of POSIX (Windows 10 1607, NTFS).
func renameOver(from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Rename(filepath.Base(from), filepath.Base(to))
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		link.Old, link.New = from, to
	}
	return err
}
