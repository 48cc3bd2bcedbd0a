package plan

import "fmt"

// File is where the first process finds the commands, as JSON of []Run.
const File = "/plan.json"

// Run is one command.
type Run struct {
	Name string // for people
	User int    // user and group id; the control group is this user's
	Argv []string
	Env  []string // KEY=value, beside PATH, HOME and TMPDIR
}

// The lines by which the first process tells where it is; what stands between
// Begin and End is the command's own output.
const begin, end = "\x1ebegin %d\n", "\x1eend %d %d\n"

// Begin announces the command with this index.
func Begin(index int) string { return fmt.Sprintf(begin, index) }

// End tells its exit status, or 128 and the signal that ended it.
func End(index, code int) string { return fmt.Sprintf(end, index, code) }

// ParseBegin reads what Begin wrote.
func ParseBegin(line string) (index int, ok bool) {
	_, err := fmt.Sscanf(line, begin, &index)
	return index, err == nil
}

// ParseEnd reads what End wrote.
func ParseEnd(line string) (index, code int, ok bool) {
	_, err := fmt.Sscanf(line, end, &index, &code)
	return index, code, err == nil
}
