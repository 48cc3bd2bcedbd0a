package server

import (
	"strconv"

	"github.com/belfry-dev/belfry/job"
)

// limits writes the limits in force, by name, as the system told them back.
func (o *object) limits(list []job.LimitRecord) {
	if len(list) == 0 {
		return
	}
	o.open("limits")
	for _, r := range list {
		o.float(string(r.Limit), r.Applied)
	}
	o.end()
}

// refusedLimits writes one record for each limit of a job that was not started
// for want of one.
func (o *object) refusedLimits(list []job.LimitRecord) {
	if len(list) == 0 {
		return
	}
	o.objects("limits", len(list), func(i int) {
		r := &list[i]
		o.str("limit", string(r.Limit))
		o.float("requested", r.Requested)
		if r.Enforced {
			o.float("applied", r.Applied)
		}
		o.flag("enforced", r.Enforced)
		o.str("scope", string(r.Scope))
		o.strIf("mechanism", string(r.Mechanism))
		o.strIf("reason", string(r.Reason))
		o.strIf("detail", r.Detail)
		o.strIf("remedy", r.Remedy)
	})
}

// limitEvidence writes which of the limits in force were met.
func (o *object) limitEvidence(s *job.Snapshot) {
	if s.Evidence == nil || len(s.Limits) == 0 {
		return
	}
	o.open("limit_evidence")
	for _, r := range s.Limits {
		o.str(string(r.Limit), string(s.Evidence.Of(r.Limit)))
	}
	o.end()
}

// float writes a number, without an exponent.
func (o *object) float(name string, v float64) {
	o.key(name)
	o.b = strconv.AppendFloat(o.b, v, 'f', -1, 64)
}
