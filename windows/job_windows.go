package windows

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// Job is a Job Object that ends all its processes when its last handle is
// closed, which the kernel does for a process that dies. The handle is never
// inherited nor duplicated. All methods are safe for concurrent use.
type Job struct {
	mu sync.RWMutex
	h  xwin.Handle // 0 once closed
}

// ErrJobClosed wraps os.ErrClosed.
var ErrJobClosed = fmt.Errorf("job object: %w", os.ErrClosed)

// NewJob makes an unnamed Job Object whose processes cannot break away.
func NewJob() (*Job, error) {
	h, err := xwin.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	j := &Job{h: h}
	if err := j.SetLimits(0, 0); err != nil {
		j.Close()
		return nil, fmt.Errorf("set up job object: %w", err)
	}
	return j, nil
}

// with runs f on the handle while it cannot be closed.
func (j *Job) with(f func(h xwin.Handle) error) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.h == 0 {
		return ErrJobClosed
	}
	return f(j.h)
}

// Terminate ends every process of the job and of jobs nested in it; code
// becomes their exit code.
func (j *Job) Terminate(code uint32) error {
	return j.with(func(h xwin.Handle) error {
		return os.NewSyscallError("TerminateJobObject", xwin.TerminateJobObject(h, code))
	})
}

// PIDs lists the processes in the job. A number may have been given out again
// by the time it is used: see Holds.
func (j *Job) PIDs() ([]int, error) {
	var pids []int
	err := j.with(func(h xwin.Handle) error {
		// JOBOBJECT_BASIC_PROCESS_ID_LIST: two 32-bit counts, then the ids.
		const word = unsafe.Sizeof(uintptr(0))
		const head = 8 / word
		for room := uintptr(64); ; room *= 2 {
			buf := make([]uintptr, head+room)
			err := query(h, xwin.JobObjectBasicProcessIdList, unsafe.Pointer(&buf[0]), (head+room)*word)
			if errors.Is(err, xwin.ERROR_MORE_DATA) && room < 1<<20 {
				continue
			}
			if err != nil {
				return err
			}
			counts := (*[2]uint32)(unsafe.Pointer(&buf[0]))
			for _, id := range buf[head : head+min(uintptr(counts[1]), room)] {
				pids = append(pids, int(id))
			}
			return nil
		}
	})
	return pids, err
}

// Holds tells whether the process is in the job.
func (j *Job) Holds(p *Process) (bool, error) {
	var in int32
	err := j.with(func(h xwin.Handle) error {
		return p.with(func(ph xwin.Handle) error {
			if r, _, err := procIsProcessInJob.Call(uintptr(ph), uintptr(h), uintptr(unsafe.Pointer(&in))); uint32(r) == 0 {
				return os.NewSyscallError("IsProcessInJob", err)
			}
			return nil
		})
	})
	return in != 0, err
}

// Accounting is what a job's processes have done, those that ended included.
type Accounting struct {
	CPU    time.Duration // user and kernel time
	Total  int           // processes ever in the job
	Active int           // processes in it now
}

// Accounting reads the counters; Active 0 is the proof that nobody is left.
func (j *Job) Accounting() (Accounting, error) {
	// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION; times in units of 100 ns.
	var raw struct {
		User, Kernel, PeriodUser, PeriodKernel int64
		PageFaults, Total, Active, Terminated  uint32
	}
	err := j.with(func(h xwin.Handle) error {
		return query(h, xwin.JobObjectBasicAccountingInformation, unsafe.Pointer(&raw), unsafe.Sizeof(raw))
	})
	return Accounting{
		CPU:    time.Duration(raw.User+raw.Kernel) * 100,
		Total:  int(raw.Total),
		Active: int(raw.Active),
	}, err
}

// PeakMemory is the most memory that the job's processes had committed
// together, in bytes; 0 where the system keeps no such figure.
func (j *Job) PeakMemory() (int64, error) {
	var limits xwin.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := j.with(func(h xwin.Handle) error {
		return query(h, xwin.JobObjectExtendedLimitInformation, unsafe.Pointer(&limits), unsafe.Sizeof(limits))
	})
	return int64(limits.PeakJobMemoryUsed), err
}

// Close closes the handle; processes that are still in the job are ended by
// the kernel. It is idempotent.
func (j *Job) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.h == 0 {
		return nil
	}
	h := j.h
	j.h = 0
	return os.NewSyscallError("CloseHandle", xwin.CloseHandle(h))
}

var (
	// What x/sys does not wrap.
	modkernel32        = xwin.NewLazySystemDLL("kernel32.dll")
	procIsProcessInJob = modkernel32.NewProc("IsProcessInJob")
)

func query(h xwin.Handle, class int32, into unsafe.Pointer, size uintptr) error {
	return os.NewSyscallError("QueryInformationJobObject",
		xwin.QueryInformationJobObject(h, class, uintptr(into), uint32(size), nil))
}
