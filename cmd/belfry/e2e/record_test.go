package e2e

// record is what the tests look at of a job's record and of the replies that
// carry one.
type record struct {
	JobID         string `json:"job_id"`
	State         string
	StartedAt     string `json:"started_at"`
	EndedAt       string `json:"ended_at"`
	ExitCode      *int   `json:"exit_code"`
	Signal        string
	EndedBy       string `json:"ended_by"`
	QueuePosition int    `json:"queue_position"`
	KillConfirmed *bool  `json:"kill_confirmed"`
	Drained       *bool
	PID           int
	Mechanism     string
	Guarantee     guarantee
	Counts        struct {
		StdoutLines int `json:"stdout_lines"`
		StdoutBytes int `json:"stdout_bytes"`
		StderrLines int `json:"stderr_lines"`
		StderrBytes int `json:"stderr_bytes"`
	}
	Limits     map[string]float64
	Diagnostic *struct {
		Reason, Code, Message string
		Limits                []struct {
			Limit                  string
			Requested              float64
			Enforced               bool
			Reason, Detail, Remedy string
		}
	}
	Survivors []struct {
		PID     int
		Command string
	}
	LeaderExit *struct{ Code *int } `json:"leader_exit"`
	page
}

type guarantee struct {
	Kill            string
	LeaderExit      string `json:"leader_exit"`
	SupervisorDeath string `json:"supervisor_death"`
	HelperDeath     string `json:"helper_death"`
}

type page struct {
	Events []struct {
		Seq          int
		Stream, Text string
		Partial      bool
	}
	NextCursor int `json:"next_cursor"`
	Truncated  bool
	Reason     string
}

func (r record) code() int {
	if r.ExitCode == nil {
		return -1
	}
	return *r.ExitCode
}

func (r record) terminal() bool {
	return r.State == "exited" || r.State == "killed" || r.State == "failed"
}
