package windows

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// Port is a completion port on which Job Objects report what happens in them.
// All jobs share one port and one thread. By contract the system may lose
// messages: one is a reason to look, never a proof.
type Port struct {
	h    xwin.Handle
	done chan struct{} // closed when the loop has returned

	mu     sync.Mutex
	closed bool
	next   uintptr
	wake   map[uintptr]func(Message)
}

// Message is the kind of what a job reports.
type Message uint32

// Those that tell more than that a process has come or gone.
const (
	// MessageProcessLimit: a process could not be created for Job.SetLimits.
	MessageProcessLimit Message = 3 // JOB_OBJECT_MSG_ACTIVE_PROCESS_LIMIT
	// MessageMemoryLimit: an allocation failed for Job.SetLimits.
	MessageMemoryLimit Message = 10 // JOB_OBJECT_MSG_JOB_MEMORY_LIMIT
)

// ErrPortClosed is returned for a job that is associated after Close.
var ErrPortClosed = errors.New("completion port is closed")

var procGetQueuedCompletionStatus = modkernel32.NewProc("GetQueuedCompletionStatus")

// keyClose ends the loop; jobs have keys from 1 up.
const keyClose = 0

// NewPort makes a completion port and starts its loop.
func NewPort() (*Port, error) {
	h, err := xwin.CreateIoCompletionPort(xwin.InvalidHandle, 0, 0, 1)
	if err != nil {
		return nil, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	p := &Port{h: h, done: make(chan struct{}), wake: make(map[uintptr]func(Message))}
	go p.loop()
	return p, nil
}

// Associate makes the port call wake whenever a process of the job starts or
// ends or meets a limit. It runs on the port's goroutine and must not block. A job can be
// associated once. The answer undoes it; wake may still be running then.
func (p *Port) Associate(j *Job, wake func(Message)) (forget func(), err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrPortClosed
	}
	p.next++
	key := p.next
	p.wake[key] = wake
	p.mu.Unlock()
	forget = func() {
		p.mu.Lock()
		delete(p.wake, key)
		p.mu.Unlock()
	}
	// JOBOBJECT_ASSOCIATE_COMPLETION_PORT.
	info := struct {
		key  uintptr
		port xwin.Handle
	}{key, p.h}
	err = j.with(func(h xwin.Handle) error {
		_, err := xwin.SetInformationJobObject(h, xwin.JobObjectAssociateCompletionPortInformation,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
		return err
	})
	if err != nil {
		forget()
		return nil, fmt.Errorf("associate job with port: %w", err)
	}
	return forget, nil
}

// Close ends the loop and waits for it. It is idempotent.
func (p *Port) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		<-p.done
		return nil
	}
	if err := xwin.PostQueuedCompletionStatus(p.h, 0, keyClose, nil); err != nil {
		return os.NewSyscallError("PostQueuedCompletionStatus", err)
	}
	<-p.done
	return os.NewSyscallError("CloseHandle", xwin.CloseHandle(p.h))
}

func (p *Port) loop() {
	defer close(p.done)
	for {
		// Of a job's message the quantity is the kind and the pointer is a
		// process id: it must never be in a variable that the collector takes for
		// a pointer. It is not looked at.
		var message uint32
		var key, pid uintptr
		ok, _, _ := procGetQueuedCompletionStatus.Call(uintptr(p.h), uintptr(unsafe.Pointer(&message)),
			uintptr(unsafe.Pointer(&key)), uintptr(unsafe.Pointer(&pid)), xwin.INFINITE)
		if uint32(ok) == 0 || key == keyClose {
			return // a failure here is a closed or invalid port
		}
		p.mu.Lock()
		wake := p.wake[key]
		p.mu.Unlock()
		if wake != nil {
			wake(Message(message))
		}
	}
}
