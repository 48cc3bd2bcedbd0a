package windows

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// procThreadAttributeJobList is PROC_THREAD_ATTRIBUTE_JOB_LIST, Windows 10.
const procThreadAttributeJobList = 0x0002000D

// Start is what to start. Stdio, and nothing else, is what it inherits.
type Start struct {
	Path        string // absolute, with its extension
	CommandLine string // as CommandLine and its neighbours make it
	Env         []string
	Dir         string
	Stdio       *Stdio
	// Suspended starts the process suspended, assigns it to the job and then
	// lets it run, instead of having it born in the job. Either way not one
	// instruction of it runs outside.
	Suspended bool
}

// Start starts a process inside the job, as the first of a process group, with a
// console of its own that has no window. On an error nothing runs.
func (j *Job) Start(s Start) (*Process, error) {
	env, err := EnvBlock(s.Env)
	if err != nil {
		return nil, err
	}
	path, err := xwin.UTF16PtrFromString(s.Path)
	if err != nil {
		return nil, fmt.Errorf("program: %w", ErrNul)
	}
	line, err := xwin.UTF16PtrFromString(s.CommandLine)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", ErrNul)
	}
	dir, err := xwin.UTF16PtrFromString(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", ErrNul)
	}
	var info xwin.ProcessInformation
	err = j.with(func(h xwin.Handle) error {
		attributes, err := xwin.NewProcThreadAttributeList(2)
		if err != nil {
			return os.NewSyscallError("InitializeProcThreadAttributeList", err)
		}
		defer attributes.Delete()
		err = attributes.Update(xwin.PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
			unsafe.Pointer(&s.Stdio.list[0]), uintptr(len(s.Stdio.list))*unsafe.Sizeof(s.Stdio.list[0]))
		if err != nil {
			return os.NewSyscallError("UpdateProcThreadAttribute", err)
		}
		flags := uint32(xwin.CREATE_UNICODE_ENVIRONMENT | xwin.EXTENDED_STARTUPINFO_PRESENT |
			xwin.CREATE_NO_WINDOW | xwin.CREATE_NEW_PROCESS_GROUP)
		if s.Suspended {
			flags |= xwin.CREATE_SUSPENDED
		} else if err := attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&h), unsafe.Sizeof(h)); err != nil {
			return os.NewSyscallError("UpdateProcThreadAttribute", err)
		}
		si := xwin.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
		si.Cb = uint32(unsafe.Sizeof(si))
		si.Flags = xwin.STARTF_USESTDHANDLES
		si.StdInput, si.StdOutput, si.StdErr = s.Stdio.each[0], s.Stdio.each[1], s.Stdio.each[2]
		err = xwin.CreateProcess(path, line, nil, nil, true, flags, &env[0], dir, &si.StartupInfo, &info)
		if err != nil {
			return os.NewSyscallError("CreateProcess", err)
		}
		if s.Suspended {
			return admit(h, info)
		}
		return nil
	})
	if info.Thread != 0 {
		xwin.CloseHandle(info.Thread)
	}
	if err != nil {
		if info.Process != 0 {
			xwin.CloseHandle(info.Process)
		}
		return nil, err
	}
	p, err := adopt(info.Process, int(info.ProcessId))
	if err != nil {
		return nil, errors.Join(err, j.Terminate(1))
	}
	return p, nil
}

// admit puts a suspended process into the job and lets it run, or ends it.
func admit(job xwin.Handle, info xwin.ProcessInformation) error {
	err := os.NewSyscallError("AssignProcessToJobObject", xwin.AssignProcessToJobObject(job, info.Process))
	if err == nil {
		_, err = xwin.ResumeThread(info.Thread)
		err = os.NewSyscallError("ResumeThread", err)
	}
	if err == nil {
		return nil
	}
	if kill := xwin.TerminateProcess(info.Process, 1); kill != nil {
		return errors.Join(err, os.NewSyscallError("TerminateProcess", kill))
	}
	_, wait := xwin.WaitForSingleObject(info.Process, xwin.INFINITE)
	return errors.Join(err, os.NewSyscallError("WaitForSingleObject", wait))
}
