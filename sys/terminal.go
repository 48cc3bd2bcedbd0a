package sys

import "os"

// Session is how a leader stands to sessions and terminals.
type Session uint8

const (
	// SessionOwn is a new session without a terminal.
	SessionOwn Session = iota
	// SessionTerminal is a new session whose controlling terminal is Stdio[0].
	SessionTerminal
	// SessionShared is our own session, in a group of the leader's own, so that
	// the terminal can be given to it. Where a helper has to start the leader it
	// is a new session all the same. On Windows there is no difference.
	SessionShared
)

// Foreground gives the terminal of our session to a leader started with
// SessionShared, until take is called. Without an error and without take there
// was nothing to give: tty is no terminal of our session, we are not in its
// foreground, or the leader is in another session.
//
// A leader that asked the terminal for something before it had it is stopped by
// the kernel, and continued here.
func Foreground(tty *os.File, leader ID) (take func() error, err error) {
	return foreground(tty, leader)
}

// TakesColours reports whether a terminal acts on escape sequences. A console of
// Windows is asked to; every other terminal does.
func TakesColours(tty *os.File) bool { return takesColours(tty) }

// OurTerminal reports whether f is the terminal of our session.
func OurTerminal(f *os.File) bool { return ourTerminal(f) }

// InOurSession reports whether a process that is held unreaped is in the session
// of this one. Where there are no sessions it is.
func InOurSession(id ID) bool { return inOurSession(id) }

// Terminal is a terminal made for a tree: what is written to it is what the
// tree reads, and what the tree says is read from Output.
type Terminal struct {
	// Output gives what the tree says; io.EOF once nobody holds Child any more.
	Output *PipeReader
	// Child becomes the leader's three descriptors; the caller closes it after
	// the start.
	Child  *os.File
	master *os.File
}

// OpenTerminal makes a terminal. It is ErrUnsupported on Windows.
func OpenTerminal() (*Terminal, error) { return openTerminal() }

// Write types. It waits while the tree does not read.
func (t *Terminal) Write(b []byte) (int, error) { return t.master.Write(b) }

// SizeFrom gives it the size of another terminal; the tree is told by SIGWINCH.
func (t *Terminal) SizeFrom(tty *os.File) error { return t.sizeFrom(tty) }
