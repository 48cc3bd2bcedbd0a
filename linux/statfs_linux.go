package linux

import "golang.org/x/sys/unix"

// SlowFS tells whether a descriptor's file lies on a file system that another
// machine or another process serves, so that a look-up there may take as long
// as it likes: network file systems, FUSE and automount points. One that does
// not even tell what it is counts as such: FUSE asks its server for that.
func SlowFS(fd int) bool {
	var st unix.Statfs_t
	if _, err := eintr(func() (int, error) { return 0, unix.Fstatfs(fd, &st) }); err != nil {
		return true
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.V9FS_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.AUTOFS_SUPER_MAGIC,
		0x564c,     // NCP
		0x7461636f, // OCFS2
		0x0bd00bd0, // Lustre
		0x47504653, // GPFS
		0x01161970, // GFS2
		0xaad7aaea: // PanFS
		return true
	}
	return false
}
