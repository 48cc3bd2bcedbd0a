package sys

import "github.com/belfry-dev/belfry/darwin"

func processes() ([]Process, error) {
	list, err := darwin.ReadAll()
	if err != nil {
		return nil, err
	}
	out := make([]Process, 0, len(list))
	for _, k := range list {
		out = append(out, Process{ID: idOf(k), PPID: k.PPID, Name: k.Command})
	}
	return out, nil
}
