package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-dev/belfry/sys"
)

// The JSON form of a probe.
type (
	hostReport struct {
		OS     string        `json:"os"`
		Kernel string        `json:"kernel"`
		Best   string        `json:"best,omitempty"`
		Rungs  []rungReport  `json:"rungs"`
		Limits []limitReport `json:"limits"`
		Notes  []string      `json:"notes,omitempty"`
	}
	limitReport struct {
		Limit     string `json:"limit"`
		Enforced  bool   `json:"enforced"`
		Scope     string `json:"scope"`
		Mechanism string `json:"mechanism,omitempty"`
		Reason    string `json:"reason,omitempty"`
		Detail    string `json:"detail,omitempty"`
		Remedy    string `json:"remedy,omitempty"`
	}
	rungReport struct {
		Mechanism string          `json:"mechanism"`
		Usable    bool            `json:"usable"`
		Reason    string          `json:"reason,omitempty"`
		Remedy    string          `json:"remedy,omitempty"`
		Guarantee guaranteeReport `json:"guarantee"`
	}
	guaranteeReport struct {
		Kill            string `json:"kill"`
		LeaderExit      string `json:"leader_exit"`
		SupervisorDeath string `json:"supervisor_death"`
		HelperDeath     string `json:"helper_death"`
	}
)

func (a *App) doctorHost(ctx context.Context, asJSON bool) error {
	h, err := a.newHost()
	if err != nil {
		return err
	}
	report := reportOf(h.Probe(ctx))
	if err := h.Close(); err != nil {
		return fmt.Errorf("close host: %w", err)
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = a.printReport(report)
	}
	if err == nil && report.Best == "" {
		return &failure{status: exitNo}
	}
	return err
}

func reportOf(r sys.Report) hostReport {
	out := hostReport{OS: r.OS, Kernel: r.Kernel, Best: string(r.Best), Rungs: []rungReport{}, Limits: []limitReport{}, Notes: r.Notes}
	for _, l := range r.Limits {
		out.Limits = append(out.Limits, limitReport{Limit: string(l.Limit), Enforced: l.Enforced, Scope: string(l.Scope),
			Mechanism: string(l.Mechanism), Reason: string(l.Reason), Detail: l.Detail, Remedy: l.Remedy})
	}
	for _, rung := range r.Rungs {
		g := rung.Guarantee
		out.Rungs = append(out.Rungs, rungReport{
			Mechanism: string(rung.Mechanism),
			Usable:    rung.Usable,
			Reason:    rung.Reason,
			Remedy:    rung.Remedy,
			Guarantee: guaranteeReport{
				Kill:            string(g.Kill),
				LeaderExit:      string(g.LeaderExit),
				SupervisorDeath: string(g.SupervisorDeath),
				HelperDeath:     string(g.HelperDeath),
			},
		})
	}
	return out
}

func (a *App) printReport(r hostReport) error {
	if err := a.printf("%s %s\n\n", r.OS, r.Kernel); err != nil {
		return err
	}
	t := table{columns: []column{{head: "MECHANISM"}, {head: "USABLE"}, {head: "KILL"}, {head: "LEADER EXIT"},
		{head: "SUPERVISOR DEATH"}, {head: "HELPER DEATH"}}}
	for _, rung := range r.Rungs {
		usable := "no"
		switch {
		case rung.Mechanism == r.Best:
			usable = "best"
		case rung.Usable:
			usable = "yes"
		}
		g := rung.Guarantee
		t.add(cell{rung.Mechanism, ""}, cell{usable, stateColour(usable)}, cell{dash(g.Kill), ""},
			cell{dash(g.LeaderExit), ""}, cell{dash(g.SupervisorDeath), ""}, cell{dash(g.HelperDeath), ""})
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	for _, rung := range r.Rungs {
		if rung.Reason != "" {
			fmt.Fprintf(a.Stdout, "\n%s: %s\n", rung.Mechanism, rung.Reason)
		}
		if rung.Remedy != "" {
			fmt.Fprintf(a.Stdout, "  remedy: %s\n", rung.Remedy)
		}
	}
	if err := a.printLimits(r.Limits); err != nil {
		return err
	}
	for _, n := range r.Notes {
		if err := a.printf("\nnote: %s\n", n); err != nil {
			return err
		}
	}
	return nil
}

// printLimits tells which limits can be had; what several lack is told once.
func (a *App) printLimits(list []limitReport) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	t := table{columns: []column{{head: "LIMIT"}, {head: "ENFORCED"}, {head: "BY"}}}
	var why []string
	for _, l := range list {
		enforced, by := "yes", l.Mechanism
		if !l.Enforced {
			enforced, by = "no", "-"
			text := fmt.Sprintf("%s: %s\n  remedy: %s\n", l.Reason, l.Detail, l.Remedy)
			if !slices.Contains(why, text) {
				why = append(why, text)
			}
		}
		t.add(cell{l.Limit, ""}, cell{enforced, stateColour(enforced)}, cell{by, ""})
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	for _, text := range why {
		if err := a.printf("\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// dash stands for a scope that is not told, as for a rung that is not usable.
func dash(scope string) string {
	if scope == "" {
		return "-"
	}
	return scope
}
