package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/belfry-dev/belfry/sys"
)

// The JSON form of a sweep.
type (
	sweepReport struct {
		Swept []sweptReport `json:"swept"`
	}
	sweptReport struct {
		Outcome   string `json:"outcome"`
		Container string `json:"container,omitempty"`
		Ended     int    `json:"ended"`
		Record    string `json:"record"`
		Detail    string `json:"detail,omitempty"`
	}
)

// doctorSweep ends what killed supervisors have left. The answer is no where
// something could not be dealt with.
func (a *App) doctorSweep(ctx context.Context, asJSON bool) error {
	results, err := a.sweep(ctx)
	if err != nil {
		return err
	}
	report, left := sweepReport{Swept: []sweptReport{}}, false
	for _, r := range results {
		left = left || r.Outcome == sys.SweptFailed || r.Outcome == sys.SweptUnknown
		report.Swept = append(report.Swept, sweptReport{Outcome: string(r.Outcome), Container: r.Container,
			Ended: r.Ended, Record: r.Record, Detail: r.Detail})
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		err = a.printSweep(report)
	}
	if err == nil && left {
		return &failure{status: exitNo}
	}
	return err
}

func (a *App) sweep(ctx context.Context) ([]sys.SweepResult, error) {
	if _, err := a.recordsDir(); err != nil {
		return nil, fmt.Errorf("look for records: %w", err)
	}
	h, err := a.newHost()
	if err != nil {
		return nil, err
	}
	results, err := h.Sweep(ctx)
	if err = errors.Join(err, h.Close()); err != nil {
		return results, fmt.Errorf("sweep: %w", err)
	}
	return results, nil
}

func (a *App) printSweep(r sweepReport) error {
	if len(r.Swept) == 0 {
		return a.printf("nothing was left by a killed belfry\n")
	}
	t := table{columns: []column{{head: "OUTCOME"}, {head: "ENDED"}, {head: "CONTAINER", least: 24, path: true}}}
	for _, s := range r.Swept {
		t.add(cell{s.Outcome, sweptColour(sys.SweepOutcome(s.Outcome))}, cell{strconv.Itoa(s.Ended), ""}, cell{dash(s.Container), ""})
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	for _, s := range r.Swept {
		if s.Detail != "" {
			if err := a.printf("\n%s: %s\n", s.Record, s.Detail); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweptColour is that of an outcome: there a stale record is one that is done with.
func sweptColour(o sys.SweepOutcome) string {
	if o == sys.SweptStale {
		return faint
	}
	return stateColour(string(o))
}
