//go:build unix

package sys

import "os"

func removeNow(path string) error { return os.Remove(path) }
