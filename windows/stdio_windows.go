package windows

import (
	"errors"
	"fmt"
	"os"
	"slices"

	xwin "golang.org/x/sys/windows"
)

// Stdio holds copies of three handles that a process may inherit; the originals
// stay private to us and may be closed. Until it is closed a process that
// somebody else starts without a list of handles would inherit them too.
type Stdio struct {
	each [3]xwin.Handle
	list []xwin.Handle // each once, as the list of handles wants them
}

// NewStdio copies the handles of input, output and errors, which may be the same.
func NewStdio(from [3]uintptr) (*Stdio, error) {
	s := &Stdio{}
	self := xwin.CurrentProcess()
	for i, h := range from {
		if k := slices.Index(from[:i], h); k >= 0 {
			s.each[i] = s.each[k]
			continue
		}
		err := xwin.DuplicateHandle(self, xwin.Handle(h), self, &s.each[i], 0, true, xwin.DUPLICATE_SAME_ACCESS)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("descriptor %d: %w", i, os.NewSyscallError("DuplicateHandle", err)), s.Close())
		}
		s.list = append(s.list, s.each[i])
	}
	return s, nil
}

// Close closes the copies.
func (s *Stdio) Close() error {
	var errs []error
	for _, h := range s.list {
		errs = append(errs, xwin.CloseHandle(h))
	}
	s.list = nil
	return errors.Join(errs...)
}
