//go:build unix

package sys

import "syscall"

// Umask reads this process's own umask; ok is false on Windows, which has none.
// What another thread makes meanwhile may get fewer permissions than it asked
// for, so it is called before there is anything to make.
func Umask() (mask int, ok bool) {
	mask = syscall.Umask(0o077)
	syscall.Umask(mask)
	return mask, true
}
