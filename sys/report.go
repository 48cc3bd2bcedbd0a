package sys

// Report is what Host.Probe found by trying every rung.
type Report struct {
	OS     string // runtime.GOOS
	Kernel string // the kernel's own release text
	Rungs  []Rung // strongest first
	Best   Mechanism
	// Limits tells for each limit whether it could be enforced here, found by
	// the same code as a start with limits, on a container thrown away.
	Limits []LimitRecord
	Notes  []string // what else a reader should know, one sentence each
}

// Rung is one way to contain a tree, tried.
type Rung struct {
	Mechanism Mechanism
	Usable    bool
	Reason    string // why not, when not usable
	Remedy    string // what would make it usable
	Guarantee Guarantee
}
