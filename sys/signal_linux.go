package sys

import "syscall"

func moreSignals() []namedSignal {
	return []namedSignal{
		{"SIGPOLL", Signal(syscall.SIGPOLL)},
		{"SIGPWR", Signal(syscall.SIGPWR)},
		{"SIGSTKFLT", Signal(syscall.SIGSTKFLT)},
	}
}
