package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/daemon"
)

// daemonView is what --json prints of a server.
type daemonView struct {
	State          daemon.State     `json:"state"`
	Scope          string           `json:"scope"`
	PID            int              `json:"pid,omitempty"`
	Generation     string           `json:"generation,omitempty"`
	Version        string           `json:"version,omitempty"`
	ClientVersion  string           `json:"client_version"`
	UpgradePending *bool            `json:"upgrade_pending,omitempty"`
	Protocol       *daemon.Range    `json:"protocol,omitempty"`
	Capabilities   []string         `json:"capabilities,omitempty"`
	Endpoint       string           `json:"endpoint,omitempty"`
	StartedAt      *time.Time       `json:"started_at,omitempty"`
	UptimeMS       *int64           `json:"uptime_ms,omitempty"`
	IdleTimeoutMS  *int64           `json:"idle_timeout_ms,omitempty"`
	Leases         *int             `json:"leases,omitempty"`
	Clients        *[]daemon.Client `json:"clients,omitempty"`
	Jobs           *jobCounts       `json:"jobs,omitempty"`
	Held           *daemon.Held     `json:"held,omitempty"`
	Cooldown       *cooldownView    `json:"cooldown,omitempty"`
	Log            string           `json:"log"`
}

type cooldownView struct {
	Until time.Time `json:"until"`
	Error string    `json:"error"`
}

func (v *daemonVerb) view(i *daemon.Info) daemonView {
	out := daemonView{State: i.State, Scope: v.scope, PID: i.PID, ClientVersion: versionOf().Version, Held: i.Held, Log: i.Log}
	if c := i.Cooldown; c != nil {
		out.Cooldown = &cooldownView{c.Until, c.Error}
	}
	if i.Generation == "" {
		return out
	}
	var r report
	// Best effort: a server of another build may report something else.
	_ = json.Unmarshal(i.App, &r)
	uptime, idle := i.Uptime.Milliseconds(), i.IdleTimeout.Milliseconds()
	pending := daemon.CompareVersions(i.Version, out.ClientVersion) < 0
	out.Generation, out.Version, out.UpgradePending = i.Generation, i.Version, &pending
	out.Protocol, out.Capabilities, out.Endpoint = &i.Protocol, i.Capabilities, i.Endpoint
	out.StartedAt, out.UptimeMS, out.IdleTimeoutMS = &i.StartTime, &uptime, &idle
	out.Leases, out.Clients, out.Jobs = &i.Leases, &i.Clients, &r.Jobs
	return out
}

// show prints a server, for people or as one line.
func (v *daemonVerb) show(i *daemon.Info) error {
	view := v.view(i)
	if v.asJSON {
		return v.line(view)
	}
	return v.a.printf("%s", view.text())
}

func (v *daemonVerb) line(x any) error {
	enc := json.NewEncoder(v.a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(x)
}

func (d *daemonView) text() string {
	var b strings.Builder
	if d.Generation == "" {
		fmt.Fprintf(&b, "%s (scope %s)", d.State, d.Scope)
		if d.PID != 0 {
			fmt.Fprintf(&b, ", process %d", d.PID)
		}
		b.WriteByte('\n')
	} else {
		fmt.Fprintf(&b, "%s (scope %s), process %d, version %s, for %v\n", d.State, d.Scope, d.PID, d.Version,
			(time.Duration(*d.UptimeMS) * time.Millisecond).Round(time.Second))
		fmt.Fprintf(&b, "clients: %d attached", *d.Leases)
		for _, c := range *d.Clients {
			fmt.Fprintf(&b, "; %s %s, process %d", c.Role, c.ID, c.PID)
		}
		fmt.Fprintf(&b, "\njobs: %d running, %d queued, %d finished\n", d.Jobs.Running, d.Jobs.Queued, d.Jobs.Finished)
		fmt.Fprintf(&b, "at %s, log %s\n", d.Endpoint, d.Log)
		if *d.UpgradePending {
			fmt.Fprintf(&b, "version %s takes over once nobody is attached and no job runs\n", d.ClientVersion)
		}
	}
	if h := d.Held; h != nil {
		fmt.Fprintf(&b, "held since %s by %s", h.Since.Local().Format(time.DateTime), h.By)
		if h.Reason != "" {
			fmt.Fprintf(&b, ": %s", h.Reason)
		}
		if !h.Until.IsZero() {
			fmt.Fprintf(&b, ", until %s", h.Until.Local().Format(time.DateTime))
		}
		b.WriteByte('\n')
	}
	if c := d.Cooldown; c != nil {
		fmt.Fprintf(&b, "cooling down until %s: %s\n", c.Until.Local().Format(time.TimeOnly), c.Error)
	}
	return b.String()
}
