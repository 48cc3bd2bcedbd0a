//go:build unix

package sys

import "os"

func renameOver(from, to string) error { return os.Rename(from, to) }
