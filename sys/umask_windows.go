package sys

// Umask reads this process's own umask; ok is false on Windows, which has none.
func Umask() (mask int, ok bool) { return 0, false }
