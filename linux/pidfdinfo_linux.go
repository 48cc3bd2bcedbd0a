package linux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// PidfdCgroup is the id of the group of the process behind a pidfd, which may be
// a zombie (PIDFD_GET_INFO with PIDFD_INFO_CGROUPID, 6.13). It is the inode of
// the group's directory where an inode number has 64 bits. False: this kernel
// does not tell, or the process was reaped.
func PidfdCgroup(fd int) (id uint64, ok bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_CGROUPID}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_CGROUPID == 0 {
		return 0, false
	}
	return info.Cgroupid, true
}

// PidfdExit is how the ended process behind a pidfd ended, whosoever child it
// was and though it was reaped (PIDFD_GET_INFO with PIDFD_INFO_EXIT, 6.15).
// False: this kernel does not tell, or it has not been reaped yet.
func PidfdExit(fd int) (Exit, bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return Exit{}, false
	}
	ws := syscall.WaitStatus(info.Exit_code)
	if ws.Signaled() {
		return Exit{Signal: ws.Signal(), Core: ws.CoreDump()}, true
	}
	return Exit{Code: ws.ExitStatus()}, true
}
