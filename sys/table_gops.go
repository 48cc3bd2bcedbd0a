//go:build !linux && !darwin

package sys

import "github.com/mitchellh/go-ps"

func processes() ([]Process, error) {
	list, err := ps.Processes()
	if err != nil {
		return nil, err
	}
	out := make([]Process, 0, len(list))
	for _, p := range list {
		out = append(out, Process{ID: ID{PID: p.Pid()}, PPID: p.PPid(), Name: p.Executable()})
	}
	return out, nil
}
