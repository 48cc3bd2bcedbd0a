package systest

import "syscall"

// underWine looks for what Wine alone has.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
