//go:build unix

package bench

import (
	"syscall"
	"time"
)

// spent gives the processor time that this process has used. Unlike the clock it
// stands still while others have the processor, and it counts what the collector
// does on other threads.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
