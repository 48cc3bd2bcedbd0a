package sys

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// The descriptors of shim and keeper.
const (
	shimControl = 3 // socket whose other end the supervisor holds
	shimBoss    = 4 // pidfd of the supervisor
	shimProc    = 5 // /proc as the supervisor has it, if at all
)

// shim is the parent of one leader and, as a subreaper, of everything in the
// leader's tree that loses its parent: so the tree is what descends from it, and
// is gone when it has no child any more. It ends with its tree, and takes it
// along when the supervisor is gone, however that went.
//
// Its first thread starts the leader, whose death signal hangs on that thread,
// and never waits in Go's scheduler: under a fork bomb no new thread could be
// had. The other one reaps.
type shim struct {
	ctl, boss int
	taken     chan struct{} // closed: the leader may be reaped
	once      sync.Once
	inside    bool // this is such an init
	handOn    int  // pipe to such an init

	// mu is held while children are listed and signalled, and while one is
	// reaped: no number changes its meaning in between.
	mu     sync.Mutex
	leader int
	held   bool         // the leader is unreaped
	strict bool         // the leader is the init of a pid namespace, which tells of its own
	floor  int64        // see leader.floor
	reaped atomic.Int64 // how many children so far

	spent time.Duration // processor time of the rehearsal's child

	room []byte // for what is heard
}

// runShim waits for an order and gives the exit status, or ends the process
// when the tree is gone.
func runShim() int {
	runtime.LockOSThread()
	if err := enterHelper(); err != nil {
		return 1
	}
	s := &shim{ctl: shimControl, boss: shimBoss, taken: make(chan struct{}), room: make([]byte, maxInline+1)}
	if err := linux.BecomeSubreaper(); err != nil {
		return s.refuse(stepHelper, err)
	}
	linux.UseProc(shimProc)
	self, err := linux.SelfPidfd()
	if err != nil {
		return s.refuse(stepHelper, err)
	}
	go s.reap()
	// A job that waits for it is on its way meanwhile.
	s.say(word{kind: wordReady}, self)
	linux.CloseFD(self)
	s.rehearse()
	return s.serve()
}

// rehearse goes through what a start takes, so that its code is in memory and the
// runtime's caches are filled when a job waits for it. Nothing is started: "/" is
// no program.
func (s *shim) rehearse() {
	o := order{Path: "/", Dir: "/", Argv: []string{"/"}}
	if p, err := decodeOrder(o.encode()); err == nil {
		_, _ = startOrdered(p, []int{0, 1, 2}) // fails in exec
	}
	_, _ = linux.ReadStat("/proc", os.Getpid())
	_, _ = linux.PeekPID(os.Getpid()) // ECHILD
	_ = word{kind: wordGone, args: make([]int64, 9)}.encode()
	s.spent = linux.ChildrenUsage().CPU
}

// enterHelper makes of this process one that outlives what its job and a
// terminal may send. The signals are caught and dropped: one that is ignored
// would be ignored by the leader, too.
func enterHelper() error {
	if err := linux.SealFrom(shimControl); err != nil {
		return err
	}
	var list []os.Signal
	for _, s := range signalTable() {
		switch s.num {
		case SIGKILL, SIGSTOP, SIGCHLD, SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP:
		default:
			list = append(list, syscall.Signal(s.num))
		}
	}
	// Each costs two turns of threads, and four where the one that asks is not free
	// to change its thread, as we are not.
	var asked sync.WaitGroup
	asked.Go(func() { signal.Notify(make(chan os.Signal, 1), list...) })
	asked.Wait()
	return linux.ClearSignalMask()
}

// say tells the supervisor, who may be gone.
func (s *shim) say(w word, pass ...int) { _ = linux.Send(s.ctl, w.encode(), pass...) }

func (s *shim) refuse(step int, err error) int {
	s.say(word{kind: wordFailed, args: []int64{int64(step), int64(errnoOf(err))}})
	return 1
}

// serve is the first thread: it listens to the supervisor.
func (s *shim) serve() int {
	for {
		m, gone := hear(s.ctl, s.boss, s.room)
		if gone {
			// A keeper that a job has stopped has nobody else now to continue it.
			_ = linux.Kill(os.Getppid(), syscall.SIGCONT) // Best effort: it may have ended.
		}
		switch {
		case gone || m.kind == wordKill:
			if s.leader == 0 {
				return 0
			}
			if s.strict && !gone {
				s.askInit()
			}
			s.peel()
		case m.kind == wordOrder && s.leader == 0 && len(m.files) >= 3:
			if !s.begin(m) {
				return 1
			}
		case m.kind == wordTaken && s.strict:
			s.tellInit(wordTaken)
		case m.kind == wordTaken:
			s.release()
		}
	}
}

// message is a word as a helper gets it, and an order beside its word.
type message struct {
	word
	order []byte
	files []int
}

// hear waits for the next message; gone means that the supervisor is. It may be
// told so by its pidfd alone: a copy of its socket in a stranger's hands keeps
// that open. The order lies in room.
func hear(ctl, boss int, room []byte) (m message, gone bool) {
	if err := linux.WaitReadable(ctl, boss); err != nil || linux.PidfdExited(boss) {
		return message{}, true
	}
	n, files, err := linux.Receive(ctl, room)
	if err != nil || n == 0 {
		return message{}, true
	}
	if room[0] == wordOrder {
		return message{word: word{kind: wordOrder}, order: room[1:n], files: files}, false
	}
	w, err := decodeWord(room[:n])
	return message{word: w, files: files}, err != nil
}

// tellInit hands a word on. An error means that the init has ended, which the
// other thread sees.
func (s *shim) tellInit(kind byte) { _, _ = syscall.Write(s.handOn, []byte{kind}) }

// initLimit bounds the wait for an init to end its namespace by itself.
const initLimit = 300 * time.Millisecond

// askInit has the init end what is in its namespace, so that it can still tell
// how the leader ended and what it used. The other thread ends this process
// when that is done.
func (s *shim) askInit() {
	s.tellInit(wordKill)
	for end := time.Now().Add(initLimit); time.Now().Before(end); {
		linux.Pause(peelPause)
	}
}

// release lets the leader be reaped.
func (s *shim) release() { s.once.Do(func() { close(s.taken) }) }

// begin starts the leader and says how that went. False: nothing was started
// and nothing is left.
func (s *shim) begin(m message) bool {
	defer func() { closeAll(m.files) }()
	o, err := m.read()
	if err != nil {
		s.refuse(stepHelper, err)
		return false
	}
	if o.Strict && !s.inside {
		return s.beginStrict(m)
	}
	s.floor = linux.OwnPeakMemory()
	c, failure := startOrdered(o, m.files)
	if failure != nil {
		s.say(word{kind: wordFailed, args: []int64{int64(failure.step), int64(failure.errno)}})
		if c.PID == 0 {
			return false
		}
	}
	s.mu.Lock()
	s.leader, s.held = c.PID, true
	s.mu.Unlock()
	if failure == nil {
		s.tellStarted(c)
	}
	if failure != nil {
		if s.inside {
			return false // which ends the namespace
		}
		s.peel()
	}
	return true
}

// read takes the order out of the message, or out of the file that came with it
// because it is long, which it puts behind the leader's descriptors.
func (m *message) read() (*order, error) {
	if len(m.order) > 0 {
		return decodeOrder(m.order)
	}
	if len(m.files) < 4 {
		return nil, errOrder
	}
	return readOrder(m.files[3])
}

// tellStarted tells who the leader is. Its number means nothing outside a
// namespace, so from there it is reaped only after the supervisor has looked.
func (s *shim) tellStarted(c linux.Child) {
	w := word{kind: wordStarted}
	if !s.inside {
		if c.Start == 0 {
			st, _ := linux.ReadStat("/proc", c.PID) // an error: the supervisor will look
			c.Start = st.Start
		}
		if c.Start != 0 {
			w.args = []int64{int64(c.PID), int64(c.Start)}
		}
	}
	s.say(w, c.Pidfd)
	linux.CloseFD(c.Pidfd)
	if len(w.args) > 0 {
		s.release()
	}
}
