//go:build !linux

package sys

import (
	"io"
	"os"
)

// PolledInput gives f back: elsewhere than on Linux what can be polled so has other
// flags for all who share it.
func PolledInput(f *os.File) io.Reader { return f }
