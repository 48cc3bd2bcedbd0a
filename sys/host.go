package sys

// HostOptions configure NewHost. The zero value is what a program wants.
type HostOptions struct {
	// Executable is this binary's path, started again for the helper
	// processes; "" means the running program. Its main must call Init first.
	Executable string
	// Parent is the cgroup directory under which the host's containers are
	// made, instead of this process's own cgroup.
	Parent string
	// Records is the directory, this user's alone, in which the host notes what
	// it must leave behind when it is killed, for a later Sweep; "" is none.
	Records string
	// Hasty spares a program that runs one command and asks for no level the
	// wait until the guardian is armed, and at the close for its end. A guardian
	// that was begun before a start ends a killed supervisor's tree as well, only
	// later; what a tree's Guarantee tells may rise after the start. Prepare does
	// its work at once and not beside the caller's.
	Hasty bool
	// ThreadsLast says that no goroutine of this program ends while it is locked to
	// its thread (runtime.LockOSThread), which ends the thread, nor changes for good
	// what a thread hands down, as its signal mask. Then starts are faster. On Linux
	// the kernel kills what a thread has started when that thread ends, so a program
	// that cannot be sure says false, and gets a thread for its starts alone. A host
	// that was made without it has such a thread, which ends when it is closed.
	ThreadsLast bool
	// Mechanism forces one rung; "" takes the best that works here.
	Mechanism Mechanism
}

// NewHost opens this machine as a starter of trees. It starts no process.
func NewHost(o HostOptions) (Host, error) { return newHost(o) }

// Init must be the first statement of main, and of TestMain where a test
// starts trees: it tells that this program may be started again as one of the
// package's own helpers, which it then is, instead of running main, as soon as
// the package is initialised. It marks every inherited descriptor from 3 up
// close-on-exec, so that no job inherits what our own parent left open.
func Init() { initProcess() }

// ReapOrphans collects the ended processes that became children of this one by
// losing their parent, if this is the first process of its pid namespace: nobody
// else would. It is called when a child has ended (SIGCHLD).
func ReapOrphans() { reapOrphans() }

// The functions that differ by operating system, each in a file named after
// its mechanism and system. On every Unix (*_unix.go, *_bsd.go) all but the
// first four are there already:
//
//	newHost(HostOptions) (Host, error)
//	initProcess()
//	stamp(path string) (FileStamp, error)
//	pipeBuffered(fd int) (int, error), pipeGrow(fd, bytes int) int  Unix only
//	signalTable() []namedSignal and the SIG constants
//	newPipe() (*pipeEnd, *os.File, error); pipeEnd has read, readNow, quiet,
//	  buffered, setReadDeadline, grow and close (pipe.go)
//	pipePair() (r, w int, err error)     Unix only
//	openNull() (*os.File, error)
//	findExecutable(name, dir, path, pathext string) (string, error)
//	stopped(ID) bool
//	absolute(path, dir string) string
//	shell(line, comspec string) (string, []string)
//	runtimeDir, configDir, stateDir (getenv func(string) string) (string, error)
//	openTerminal() (*Terminal, error), (*Terminal).sizeFrom(*os.File) error
//	foreground(*os.File, ID) (func() error, error), ourTerminal(*os.File) bool,
//	  inOurSession(ID) bool
//	processes() ([]Process, error)       table_linux.go, table_darwin.go, else table_gops.go
//	relativesOf(root ID) ([]relative, error)  process_linux.go, else process_other.go
//	identifyLive(pid int) (ID, error)
//	startDetached(path string, argv []string, attr *os.ProcAttr) (*os.Process, error)
//	passOn(*os.ProcAttr, *os.File) uint64, exitOf(*os.ProcessState) Exit,
//	  isOpen(uintptr) bool, inherited(fd int) bool     Unix: inherited only
