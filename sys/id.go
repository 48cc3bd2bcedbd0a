package sys

// BirthKind tells what an ID's Birth counts.
type BirthKind uint8

const (
	// BirthUnknown: the birth could not be read.
	BirthUnknown BirthKind = iota
	// BirthStartTicks: Linux clock ticks since boot, field 22 of /proc/pid/stat.
	BirthStartTicks
	// BirthStartMicros: microseconds since 1970, as macOS keeps them.
	BirthStartMicros
	// BirthFiletime: Windows creation time, 100 ns since 1601.
	BirthFiletime
)

// ID names one process for ever: a process id is used again by the kernel, a
// process id together with its birth is not.
type ID struct {
	PID    int
	Birth  uint64
	Kind   BirthKind
	Boot   string // boot id; not on Windows, where nothing counts from the boot
	Unique uint64 // unique until reboot: pidfs inode (Linux 6.9, 64 bit), p_uniqueid (macOS); 0 where there is none
}

// Match is the answer to "is this the same process".
type Match uint8

const (
	// Unknown: what was recorded does not suffice to tell.
	Unknown Match = iota
	// Yes: the same process.
	Yes
	// No: another process.
	No
)

func (m Match) String() string {
	switch m {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Same compares two identities. It answers Unknown rather than guess: births
// are compared for equality, never within a tolerance, and ticks since boot
// only when both boots are known.
func (a ID) Same(b ID) Match {
	if a.PID != b.PID {
		return No
	}
	if a.Boot != "" && b.Boot != "" && a.Boot != b.Boot {
		return No
	}
	sameBoot := a.Boot != "" && a.Boot == b.Boot
	if sameBoot && a.Unique != 0 && b.Unique != 0 {
		if a.Unique == b.Unique {
			return Yes
		}
		return No
	}
	if a.Kind == BirthUnknown || a.Kind != b.Kind {
		return Unknown
	}
	if a.Birth != b.Birth {
		// Ticks of two boots differ or agree by chance; of one boot they decide.
		if a.Kind == BirthStartTicks && !sameBoot {
			return Unknown
		}
		return No
	}
	if a.Kind == BirthStartTicks && !sameBoot {
		return Unknown
	}
	return Yes
}
