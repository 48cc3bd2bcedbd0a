package sys

// SweepOutcome is what a sweep made of one record.
type SweepOutcome string

// The outcomes.
const (
	// SweptEnded: the supervisor was dead; what was left of its trees was ended
	// and proved gone, and the container and the record were removed.
	SweptEnded SweepOutcome = "ended"
	// SweptStale: nothing was left but the record, which was removed.
	SweptStale SweepOutcome = "stale"
	// SweptLive: the supervisor lives; nothing was touched.
	SweptLive SweepOutcome = "live"
	// SweptUnknown: the record cannot be read or verified; nothing was touched.
	SweptUnknown SweepOutcome = "unknown"
	// SweptFailed: what was left could not be ended or removed.
	SweptFailed SweepOutcome = "failed"
)

// SweepResult tells what a sweep found and did for one record of a supervisor.
type SweepResult struct {
	Record    string // the record's file
	Container string // the control group's directory; may be empty
	Outcome   SweepOutcome
	Ended     int    // members that were ended
	Detail    string // why, for SweptUnknown and SweptFailed
}
