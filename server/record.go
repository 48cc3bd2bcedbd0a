package server

import (
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/job"
)

// recordSize is room for an ordinary record.
const recordSize = 768

// record writes what run, status, kill and follow tell of a job. What is not
// known is absent, never null.
func (o *object) record(s *job.Snapshot) {
	o.str("job_id", s.ID)
	o.str("state", string(s.State))
	o.time("started_at", s.Created)
	o.timeIf("ended_at", s.Ended)
	o.ended(s)
	if d := s.Diagnostic; d != nil {
		o.open("diagnostic")
		o.str("reason", string(d.Reason))
		o.strIf("code", d.Code)
		o.str("message", d.Message)
		o.refusedLimits(d.Limits)
		o.end()
	}
	if s.QueuePosition > 0 {
		o.num("queue_position", int64(s.QueuePosition))
	}
	o.str("command_summary", s.Command)
	o.str("label", s.Label)
	o.strIf("client", s.Client)
	o.counts(s)
	o.flagIf("kill_confirmed", s.KillConfirmed)
	o.flagIf("identity_confirmed", s.IdentityConfirmed)
	o.strIf("identity_capture", s.IdentityCapture)
	o.timeIf("spawned_at", s.Spawned)
	if !s.Spawned.IsZero() && !s.Ended.IsZero() {
		o.num("duration_ms", max(s.Ended.Sub(s.Spawned), 0).Milliseconds())
	}
	o.ending(s)
	if s.Stopped {
		o.flag("stopped", true)
	}
	o.usage(s.Usage)
	o.limitEvidence(s)
	o.flagIf("drained", s.Drained)
	o.survivors(s.Survivors)
}

func (o *object) counts(s *job.Snapshot) {
	out, err := &s.Counts[job.Stdout], &s.Counts[job.Stderr]
	o.open("counts")
	o.count("stdout_lines", out.Lines)
	o.count("stdout_bytes", out.Bytes)
	o.count("stderr_lines", err.Lines)
	o.count("stderr_bytes", err.Bytes)
	if out.Pending > 0 {
		o.count("stdout_pending_bytes", out.Pending)
	}
	if err.Pending > 0 {
		o.count("stderr_pending_bytes", err.Pending)
	}
	o.end()
}

// ending writes how far the end has come while the job still goes on, and how
// the leader ended when that is not the outcome itself.
func (o *object) ending(s *job.Snapshot) {
	if e := s.Ending; e != nil {
		o.open("ending")
		o.str("by", string(e.By))
		o.time("since", time.UnixMilli(e.Since))
		o.str("step", string(e.Step))
		o.end()
	}
	if l := s.LeaderExit; l != nil {
		o.open("leader_exit")
		if l.Code != nil {
			o.num("code", int64(*l.Code))
		}
		o.strIf("signal", l.Signal)
		o.time("at", l.At)
		o.end()
	}
}

func (o *object) usage(u *job.Usage) {
	if u == nil || u.CPU < 0 && u.PeakMemory < 0 && u.IORead < 0 && u.IOWrite < 0 && u.PeakProcesses < 0 {
		return
	}
	o.open("usage")
	if u.CPU >= 0 {
		o.num("cpu_ms", u.CPU.Milliseconds())
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"peak_memory_bytes", u.PeakMemory},
		{"io_read_bytes", u.IORead},
		{"io_write_bytes", u.IOWrite},
		{"peak_processes", int64(u.PeakProcesses)},
	} {
		if f.value >= 0 {
			o.num(f.name, f.value)
		}
	}
	o.end()
}

func (o *object) survivors(list []job.Member) {
	if len(list) == 0 {
		return
	}
	o.objects("survivors", len(list), func(i int) {
		o.num("pid", int64(list[i].PID))
		o.str("command", list[i].Command)
	})
}

// process writes what status adds: which process leads the tree, and what
// contains it. A pid never stands alone: it is used again, the pair is not.
func (o *object) process(s *job.Snapshot) {
	if id := s.Identity; id != nil {
		o.num("pid", int64(id.PID))
		o.birth(id)
	} else if s.IdentityCapture != "" {
		o.open("birth_identity")
		o.str("state", s.IdentityCapture)
		o.end()
	}
	if g := s.Guarantee; g != nil {
		o.str("mechanism", g.Mechanism)
		o.open("guarantee")
		o.str("kill", g.Kill)
		o.str("leader_exit", g.LeaderExit)
		o.str("supervisor_death", g.SupervisorDeath)
		o.str("helper_death", g.HelperDeath)
		o.end()
	}
	o.limits(s.Limits)
}

func (o *object) birth(id *job.Identity) {
	var platform, unit string
	switch id.Kind {
	case job.BirthStartTicks:
		platform, unit = "linux-starttime-ticks", "startTimeTicks"
	case job.BirthStartMicros:
		platform, unit = "darwin-starttime-micros", "startTimeMicros"
	case job.BirthFiletime:
		platform, unit = "windows-creation-filetime", "creationFileTime"
	}
	o.open("birth_identity")
	if platform == "" {
		o.str("state", "unavailable")
	} else {
		o.str("state", "captured")
		o.open("identity")
		o.str("platform", platform)
		o.key(unit)
		o.b = append(o.b, '"')
		o.b = strconv.AppendUint(o.b, id.Birth, 10)
		o.b = append(o.b, '"')
		o.end()
	}
	o.end()
}

// entry writes one job of a list.
func (o *object) entry(s *job.Snapshot) {
	o.str("job_id", s.ID)
	o.str("label", s.Label)
	o.str("state", string(s.State))
	o.time("started_at", s.Created)
	if s.QueuePosition > 0 {
		o.num("queue_position", int64(s.QueuePosition))
	}
	o.ended(s)
	o.timeIf("ended_at", s.Ended)
}

// ended writes what ended a job, as far as it has ended.
func (o *object) ended(s *job.Snapshot) {
	if s.ExitCode != nil {
		o.num("exit_code", int64(*s.ExitCode))
	}
	o.strIf("signal", s.Signal)
	o.strIf("ended_by", string(s.EndedBy))
}
