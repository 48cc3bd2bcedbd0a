package sys

// Process is one row of the process table. ID holds at least the number; Name
// is the short name, for people.
type Process struct {
	ID   ID
	PPID int
	Name string
}

// Processes lists the processes of this machine that this process may see.
func Processes() ([]Process, error) { return processes() }
