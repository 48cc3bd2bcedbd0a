package sys

// GoneSuffix ends the name of a file that RemoveNow took away while somebody
// had it open. It goes when the last of them closes it.
const GoneSuffix = ".gone"

// RemoveNow removes a file so that its name is free at once, also on systems
// where a removed file keeps its name as long as somebody has it open. Of two
// that remove the same file one is told fs.ErrNotExist, but on Windows both may
// succeed. What others opened by OpenShared or OpenLock does not keep it.
func RemoveNow(path string) error { return removeNow(path) }
