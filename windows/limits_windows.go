package windows

import (
	"os"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// SetLimits holds the processes of the job, all together, to so many committed
// bytes and so many processes at once; 0 is no limit. The kernel keeps whole
// pages. An allocation beyond the memory fails and nobody is ended; a process
// beyond the number cannot be created.
func (j *Job) SetLimits(memory uint64, processes uint32) error {
	return j.with(func(h xwin.Handle) error {
		limits := xwin.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
		basic := &limits.BasicLimitInformation
		// Setting replaces, so what NewJob has set is set again.
		basic.LimitFlags = xwin.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
		if memory != 0 {
			basic.LimitFlags |= xwin.JOB_OBJECT_LIMIT_JOB_MEMORY
			limits.JobMemoryLimit = uintptr(memory)
		}
		if processes != 0 {
			basic.LimitFlags |= xwin.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
			basic.ActiveProcessLimit = processes
		}
		return set(h, xwin.JobObjectExtendedLimitInformation, unsafe.Pointer(&limits), unsafe.Sizeof(limits))
	})
}

// Limits reads back what the kernel took of them, 0 where there is none.
func (j *Job) Limits() (memory uint64, processes uint32, err error) {
	var limits xwin.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err = j.with(func(h xwin.Handle) error {
		return query(h, xwin.JobObjectExtendedLimitInformation, unsafe.Pointer(&limits), unsafe.Sizeof(limits))
	})
	if limits.BasicLimitInformation.LimitFlags&xwin.JOB_OBJECT_LIMIT_JOB_MEMORY != 0 {
		memory = uint64(limits.JobMemoryLimit)
	}
	if limits.BasicLimitInformation.LimitFlags&xwin.JOB_OBJECT_LIMIT_ACTIVE_PROCESS != 0 {
		processes = limits.BasicLimitInformation.ActiveProcessLimit
	}
	return memory, processes, err
}

// cpuRate is JOBOBJECT_CPU_RATE_CONTROL_INFORMATION with a rate.
type cpuRate struct{ flags, rate uint32 }

// JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP.
const hardCap = 0x1 | 0x4

// SetCPURate holds the job to a share of the time of all processors, in
// hundredths of a percent, 1 to 10000; in a job inside another to a share of
// the outer job's. Windows 8, and not while the system itself shares the
// processors out among its sessions.
func (j *Job) SetCPURate(rate uint32) error {
	return j.with(func(h xwin.Handle) error {
		info := cpuRate{hardCap, rate}
		return set(h, xwin.JobObjectCpuRateControlInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
	})
}

// CPURate reads back what the kernel took of it, 0 without a hard cap.
func (j *Job) CPURate() (uint32, error) {
	var info cpuRate
	err := j.with(func(h xwin.Handle) error {
		return query(h, xwin.JobObjectCpuRateControlInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
	})
	if info.flags&hardCap != hardCap {
		return 0, err
	}
	return info.rate, err
}

// Processors is how many processors the system has, in all groups.
func Processors() int { return int(xwin.GetActiveProcessorCount(xwin.ALL_PROCESSOR_GROUPS)) }

func set(h xwin.Handle, class uint32, from unsafe.Pointer, size uintptr) error {
	_, err := xwin.SetInformationJobObject(h, class, uintptr(from), uint32(size))
	return os.NewSyscallError("SetInformationJobObject", err)
}
