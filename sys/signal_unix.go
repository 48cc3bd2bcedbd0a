//go:build unix

package sys

import "syscall"

// The signals that every Unix has.
const (
	SIGHUP    = Signal(syscall.SIGHUP)
	SIGINT    = Signal(syscall.SIGINT)
	SIGQUIT   = Signal(syscall.SIGQUIT)
	SIGILL    = Signal(syscall.SIGILL)
	SIGTRAP   = Signal(syscall.SIGTRAP)
	SIGABRT   = Signal(syscall.SIGABRT)
	SIGBUS    = Signal(syscall.SIGBUS)
	SIGFPE    = Signal(syscall.SIGFPE)
	SIGKILL   = Signal(syscall.SIGKILL)
	SIGUSR1   = Signal(syscall.SIGUSR1)
	SIGSEGV   = Signal(syscall.SIGSEGV)
	SIGUSR2   = Signal(syscall.SIGUSR2)
	SIGPIPE   = Signal(syscall.SIGPIPE)
	SIGALRM   = Signal(syscall.SIGALRM)
	SIGTERM   = Signal(syscall.SIGTERM)
	SIGCHLD   = Signal(syscall.SIGCHLD)
	SIGCONT   = Signal(syscall.SIGCONT)
	SIGSTOP   = Signal(syscall.SIGSTOP)
	SIGTSTP   = Signal(syscall.SIGTSTP)
	SIGTTIN   = Signal(syscall.SIGTTIN)
	SIGTTOU   = Signal(syscall.SIGTTOU)
	SIGURG    = Signal(syscall.SIGURG)
	SIGXCPU   = Signal(syscall.SIGXCPU)
	SIGXFSZ   = Signal(syscall.SIGXFSZ)
	SIGVTALRM = Signal(syscall.SIGVTALRM)
	SIGPROF   = Signal(syscall.SIGPROF)
	SIGWINCH  = Signal(syscall.SIGWINCH)
	SIGIO     = Signal(syscall.SIGIO)
	SIGSYS    = Signal(syscall.SIGSYS)
)

func signalTable() []namedSignal {
	return append([]namedSignal{
		{"SIGHUP", SIGHUP}, {"SIGINT", SIGINT}, {"SIGQUIT", SIGQUIT}, {"SIGILL", SIGILL},
		{"SIGTRAP", SIGTRAP}, {"SIGABRT", SIGABRT}, {"SIGIOT", SIGABRT}, {"SIGBUS", SIGBUS},
		{"SIGFPE", SIGFPE}, {"SIGKILL", SIGKILL}, {"SIGUSR1", SIGUSR1}, {"SIGSEGV", SIGSEGV},
		{"SIGUSR2", SIGUSR2}, {"SIGPIPE", SIGPIPE}, {"SIGALRM", SIGALRM}, {"SIGTERM", SIGTERM},
		{"SIGCHLD", SIGCHLD}, {"SIGCONT", SIGCONT}, {"SIGSTOP", SIGSTOP}, {"SIGTSTP", SIGTSTP},
		{"SIGTTIN", SIGTTIN}, {"SIGTTOU", SIGTTOU}, {"SIGURG", SIGURG}, {"SIGXCPU", SIGXCPU},
		{"SIGXFSZ", SIGXFSZ}, {"SIGVTALRM", SIGVTALRM}, {"SIGPROF", SIGPROF},
		{"SIGWINCH", SIGWINCH}, {"SIGIO", SIGIO}, {"SIGSYS", SIGSYS},
	}, moreSignals()...)
}
