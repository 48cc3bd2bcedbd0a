package darwin

import "golang.org/x/sys/unix"

// FileInfo is what a look at a file tells.
type FileInfo struct {
	Dev, Inode uint64
	Size       int64
	Change     int64 // change time, nanoseconds since 1970
	Mode       uint32
}

// IsDir tells whether it is a directory.
func (fi FileInfo) IsDir() bool { return fi.Mode&unix.S_IFMT == unix.S_IFDIR }

// IsRegular tells whether it is a regular file.
func (fi FileInfo) IsRegular() bool { return fi.Mode&unix.S_IFMT == unix.S_IFREG }

// Executable tells whether any execute bit is set.
func (fi FileInfo) Executable() bool { return fi.Mode&0o111 != 0 }

// Stat looks at the file at path, symbolic links followed.
func Stat(path string) (FileInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return FileInfo{}, err
		}
		return FileInfo{Dev: uint64(uint32(st.Dev)), Inode: st.Ino, Size: st.Size, Change: st.Ctim.Nano(), Mode: uint32(st.Mode)}, nil
	}
}

// CanEnter tells whether this process may search the directory; nil if so.
func CanEnter(dir string) error { return unix.Access(dir, unix.X_OK) }

// ReadHead reads the first bytes of a file, at most ProgramHead of them. It
// does not wait for a writer when the file is a pipe.
func ReadHead(path string) ([]byte, error) {
	var fd int
	var err error
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	head := make([]byte, ProgramHead)
	for {
		n, err := unix.Pread(fd, head, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return head[:n], nil
	}
}

// MaxArguments is the room for arguments and environment in bytes (kern.argmax).
func MaxArguments() (int, error) { return sysctlInt("kern.argmax") }

// MaxProcesses is how many processes one user may have (kern.maxprocperuid).
func MaxProcesses() (int, error) { return sysctlInt("kern.maxprocperuid") }

func sysctlInt(name string) (int, error) {
	v, err := unix.SysctlUint32(name)
	return int(v), err
}
