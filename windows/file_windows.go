package windows

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// FileID identifies one version of a file.
type FileID struct {
	Volume, Index uint64 // serial number, file index: unique on one volume
	Size          int64
	Written       int64 // nanoseconds since 1970
}

// ReadFileID reads the identity of the file at path, links followed.
func ReadFileID(path string) (FileID, error) {
	f, id, err := openFile(path, xwin.FILE_READ_ATTRIBUTES, xwin.FILE_SHARE_READ|xwin.FILE_SHARE_WRITE|xwin.FILE_SHARE_DELETE)
	if err != nil {
		return FileID{}, err
	}
	return id, f.Close()
}

// Pin opens a file so that nobody can write, replace or remove it until the
// answer is closed, while anybody can read and run it: what was compared is
// what CreateProcess then loads.
func Pin(path string) (*Pinned, FileID, error) {
	return openFile(path, xwin.GENERIC_READ, xwin.FILE_SHARE_READ)
}

// Pinned is a file that is held unchanged.
type Pinned struct{ h xwin.Handle }

// Close lets go.
func (p *Pinned) Close() error { return os.NewSyscallError("CloseHandle", xwin.CloseHandle(p.h)) }

func openFile(path string, access, share uint32) (*Pinned, FileID, error) {
	name, err := xwin.UTF16PtrFromString(path)
	if err != nil {
		return nil, FileID{}, &fs.PathError{Op: "open", Path: path, Err: ErrNul}
	}
	// FILE_FLAG_BACKUP_SEMANTICS lets a directory be opened, so that a
	// caller hears of its kind and not of a refusal.
	const flags = xwin.FILE_FLAG_BACKUP_SEMANTICS
	h, err := xwin.CreateFile(name, access, share, nil, xwin.OPEN_EXISTING, flags, 0)
	if errors.Is(err, xwin.ERROR_CANT_ACCESS_FILE) {
		// The alias of an application from the store, which CreateProcess alone
		// follows: it is itself the file.
		h, err = xwin.CreateFile(name, access, share, nil, xwin.OPEN_EXISTING, flags|xwin.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	}
	if err != nil {
		return nil, FileID{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var info xwin.ByHandleFileInformation
	if err := xwin.GetFileInformationByHandle(h, &info); err != nil {
		xwin.CloseHandle(h)
		return nil, FileID{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return &Pinned{h}, FileID{
		Volume:  uint64(info.VolumeSerialNumber),
		Index:   uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
		Size:    int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		Written: info.LastWriteTime.Nanoseconds(),
	}, nil
}

// MakePrivateDir makes a directory that this user and the system alone may
// enter. One that is there already must be a real directory of this user (or of
// the administrators, who own what an elevated process makes).
func MakePrivateDir(path string) error {
	user, err := xwin.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return os.NewSyscallError("GetTokenInformation", err)
	}
	sid := user.User.Sid.String()
	sd, err := xwin.SecurityDescriptorFromString("O:" + sid + privateDACL(sid))
	if err != nil {
		return fmt.Errorf("make directory %s: %w", path, err)
	}
	name, err := xwin.UTF16PtrFromString(path)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: ErrNul}
	}
	sa := xwin.SecurityAttributes{Length: uint32(unsafe.Sizeof(xwin.SecurityAttributes{})), SecurityDescriptor: sd}
	err = xwin.CreateDirectory(name, &sa)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, xwin.ERROR_ALREADY_EXISTS):
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	attributes, err := xwin.GetFileAttributes(name)
	if err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if attributes&xwin.FILE_ATTRIBUTE_DIRECTORY == 0 || attributes&xwin.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return fmt.Errorf("%s: is not a directory", path)
	}
	have, err := xwin.GetNamedSecurityInfo(path, xwin.SE_FILE_OBJECT, xwin.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("read the owner of %s: %w", path, err)
	}
	owner, _, err := have.Owner()
	if err != nil {
		return fmt.Errorf("read the owner of %s: %w", path, err)
	}
	if !owner.Equals(user.User.Sid) && !owner.IsWellKnown(xwin.WinBuiltinAdministratorsSid) {
		return fmt.Errorf("%s: belongs to another user", path)
	}
	return nil
}

// SetPrivate gives a directory the descriptor that MakePrivateDir makes, if it
// has another.
func SetPrivate(path string) error {
	sid, err := UserSID()
	if err != nil {
		return err
	}
	want := privateDACL(sid)
	have, err := xwin.GetNamedSecurityInfo(path, xwin.SE_FILE_OBJECT, xwin.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("read the access list of %s: %w", path, err)
	}
	if have.String() == want {
		return nil
	}
	sd, err := xwin.SecurityDescriptorFromString(want)
	if err != nil {
		return fmt.Errorf("make the access list of %s: %w", path, err)
	}
	dacl, _, err := sd.DACL()
	if err != nil {
		return fmt.Errorf("make the access list of %s: %w", path, err)
	}
	err = xwin.SetNamedSecurityInfo(path, xwin.SE_FILE_OBJECT,
		xwin.DACL_SECURITY_INFORMATION|xwin.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	if err != nil {
		return fmt.Errorf("set the access list of %s: %w", path, err)
	}
	return nil
}

// privateDACL is an access list, not inherited from above, of one user and the
// system, which holds for what is made below too.
func privateDACL(sid string) string { return "D:P(A;OICI;FA;;;" + sid + ")(A;OICI;FA;;;SY)" }
