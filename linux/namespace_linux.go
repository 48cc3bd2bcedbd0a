package linux

import (
	"golang.org/x/sys/unix"
)

// NamespaceID is the inode of one of this process's namespaces ("pid", "mnt"),
// unique while the namespace lives; 0 when it cannot be read.
func NamespaceID(name string) uint64 {
	var st unix.Stat_t
	if _, err := eintr(func() (int, error) { return 0, unix.Stat("/proc/self/ns/"+name, &st) }); err != nil {
		return 0
	}
	return uint64(st.Ino)
}

// IsCgroup2 tells whether a path lies on a cgroup v2 file system.
func IsCgroup2(path string) bool {
	var st unix.Statfs_t
	if _, err := eintr(func() (int, error) { return 0, unix.Statfs(path, &st) }); err != nil {
		return false
	}
	return int64(st.Type) == unix.CGROUP2_SUPER_MAGIC
}
