package sys

import "github.com/belfry-dev/belfry/linux"

// Ended asks the pidfd, which turns readable at the leader's end.
func (l *leader) Ended() bool {
	if l.ended() {
		return true
	}
	over := true // a pidfd that is closed belongs to a finished leader
	_ = l.pidfd.Use(func(fd int) { over = linux.PidfdExited(fd) })
	return over
}
