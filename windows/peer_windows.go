package windows

import (
	"os"

	xwin "golang.org/x/sys/windows"
)

// UserSID is the user of this process, in the form of a security descriptor.
func UserSID() (string, error) {
	user, err := xwin.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", os.NewSyscallError("GetTokenInformation", err)
	}
	return user.User.Sid.String(), nil
}

// PipeClient is the process at the client's end of a pipe, asked at the server's.
func PipeClient(h uintptr) (int, error) {
	var pid uint32
	err := xwin.GetNamedPipeClientProcessId(xwin.Handle(h), &pid)
	return int(pid), os.NewSyscallError("GetNamedPipeClientProcessId", err)
}

// PipeServer is the process at the server's end of a pipe, asked at the client's.
func PipeServer(h uintptr) (int, error) {
	var pid uint32
	err := xwin.GetNamedPipeServerProcessId(xwin.Handle(h), &pid)
	return int(pid), os.NewSyscallError("GetNamedPipeServerProcessId", err)
}

// OwnedByUser reports whether the object behind a handle belongs to this
// process's user, or to the administrators while this process is one of them:
// they own what an elevated process makes.
func OwnedByUser(h uintptr) (bool, error) {
	sd, err := xwin.GetSecurityInfo(xwin.Handle(h), xwin.SE_KERNEL_OBJECT, xwin.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return false, os.NewSyscallError("GetSecurityInfo", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return false, os.NewSyscallError("GetSecurityDescriptorOwner", err)
	}
	token := xwin.GetCurrentProcessToken()
	user, err := token.GetTokenUser()
	if err != nil {
		return false, os.NewSyscallError("GetTokenInformation", err)
	}
	if owner.Equals(user.User.Sid) {
		return true, nil
	}
	return owner.IsWellKnown(xwin.WinBuiltinAdministratorsSid) && token.IsElevated(), nil
}
