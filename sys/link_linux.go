package sys

import (
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// link is the supervisor's end of a helper's socket, with the helper itself.
type link struct {
	sock  *linux.Pollable
	id    ID
	pidfd *linux.Pollable // of the helper; nil until it is ready
}

// newLink makes the socket of a helper that is to be started; theirs is its
// end, which the caller closes.
func newLink(name string) (l *link, theirs int, err error) {
	ours, theirs, err := linux.SocketPair()
	if err != nil {
		return nil, -1, err
	}
	sock, err := linux.NewPollable(ours, name)
	if err != nil {
		linux.CloseFD(theirs)
		return nil, -1, err
	}
	return &link{sock: sock}, theirs, nil
}

// helperLost is the end of a helper that was to answer.
var errHelperLost = errors.New("the helper process ended")

// errHelperStopped: a job of the same user may stop or trace a helper.
var errHelperStopped = errors.New("the helper process was stopped (SIGSTOP) or is traced")

// greet waits for the helper's first word, which holds its pidfd.
func (l *link) greet(limit time.Duration) error {
	w, files, err := l.receiveWithin(limit)
	if err != nil {
		return err
	}
	if w.kind == wordFailed {
		return syscall.Errno(w.arg(1))
	}
	if w.kind != wordReady || len(files) != 1 {
		closeAll(files)
		return errWord
	}
	pid, err := linux.PidfdPID(files[0])
	if err == nil {
		l.id, err = identify(pid, files[0])
	}
	if err != nil {
		linux.CloseFD(files[0])
		return err
	}
	l.pidfd, err = linux.NewPollable(files[0], "pidfd of a helper")
	return err
}

func closeAll(fds []int) {
	for _, fd := range fds {
		linux.CloseFD(fd)
	}
}

func (l *link) send(w word, pass ...int) error { return l.sendRaw(w.encode(), pass...) }

func (l *link) sendRaw(b []byte, pass ...int) error {
	err := error(nil)
	if cerr := l.sock.Use(func(fd int) { err = linux.Send(fd, b, pass...) }); cerr != nil {
		return cerr
	}
	return err
}

// receive waits for the next word; errHelperLost when there is none any more.
func (l *link) receive() (w word, files []int, err error) {
	var b [maxWord]byte
	var n int
	werr := l.sock.Wait(func(fd int) bool {
		n, files, err = linux.Receive(fd, b[:])
		return err != syscall.EAGAIN
	})
	switch {
	case werr != nil:
		return word{}, nil, werr
	case err == io.EOF:
		return word{}, nil, errHelperLost
	case err != nil:
		return word{}, nil, err
	}
	if w, err = decodeWord(b[:n]); err != nil {
		closeAll(files)
	}
	return w, files, err
}

func (l *link) receiveWithin(limit time.Duration) (word, []int, error) {
	if err := l.sock.SetDeadline(time.Now().Add(limit)); err != nil {
		return word{}, nil, err
	}
	w, files, err := l.receive()
	if derr := l.sock.SetDeadline(time.Time{}); err == nil && derr != nil {
		closeAll(files)
		err = derr
	}
	return w, files, err
}

// signal reaches the helper or nobody.
func (l *link) signal(sig syscall.Signal) {
	if l.pidfd != nil {
		_ = l.pidfd.Use(func(fd int) { _ = linux.PidfdSignal(fd, sig) })
	}
}

// gone tells whether the helper has ended.
func (l *link) gone() bool {
	over := true // a closed pidfd belongs to one that was let go
	_ = l.pidfd.Use(func(fd int) { over = linux.PidfdExited(fd) })
	return over
}

// noteEnd ends the socket if the helper has ended: a stranger's copy of its side
// would keep it open.
func (l *link) noteEnd() {
	if l.gone() {
		_ = l.sock.Use(linux.StopReading)
	}
}

// stopped tells whether the helper is stopped, which a job may do to it.
func (l *link) stopped() bool {
	st, err := linux.ReadStat("/proc", l.id.PID)
	return err == nil && st.Start == l.id.Birth && st.Stopped()
}

// close lets the helper go: it ends what it holds and itself.
func (l *link) close() {
	l.sock.Close()
	if l.pidfd != nil {
		l.pidfd.Close()
	}
}
