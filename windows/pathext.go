package windows

import "strings"

// DefaultPathExt is what the system takes when PATHEXT is not set.
const DefaultPathExt = ".COM;.EXE;.BAT;.CMD"

// Extensions takes PATHEXT apart: in order, lower case, each once and with its
// dot. An empty list gives the default.
func Extensions(pathext string) []string {
	var list []string
	seen := map[string]bool{"": true, ".": true}
	for ext := range strings.SplitSeq(strings.ToLower(pathext), ";") {
		ext = strings.TrimSpace(ext)
		if ext != "" && ext[0] != '.' {
			ext = "." + ext
		}
		if !seen[ext] {
			seen[ext] = true
			list = append(list, ext)
		}
	}
	if list == nil {
		return Extensions(DefaultPathExt)
	}
	return list
}

// Candidates are the file names that a command's name may mean, in the order in
// which they are tried: the name itself when it has an extension, then the name
// with each extension. A file without any extension is never a program.
func Candidates(name string, extensions []string) []string {
	var list []string
	if base := name[strings.LastIndexAny(name, `\/:`)+1:]; strings.LastIndexByte(base, '.') > 0 {
		list = append(list, name)
	}
	for _, ext := range extensions {
		list = append(list, name+ext)
	}
	return list
}

// HasDirectory tells whether a command's name holds a separator or a drive, so
// that it is not looked for along PATH.
func HasDirectory(name string) bool { return strings.ContainsAny(name, `\/:`) }

// IsProgram tells whether a file name ends in one of the extensions.
func IsProgram(name string, extensions []string) bool {
	lower := strings.ToLower(name)
	for _, ext := range extensions {
		if strings.HasSuffix(lower, ext) && len(lower) > len(ext) {
			return true
		}
	}
	return false
}

// IsBatch tells whether cmd.exe would run the file. The system ignores blanks
// and dots at the end of a file's name.
func IsBatch(path string) bool {
	lower := strings.ToLower(strings.TrimRight(path, " ."))
	return strings.HasSuffix(lower, ".bat") || strings.HasSuffix(lower, ".cmd")
}
