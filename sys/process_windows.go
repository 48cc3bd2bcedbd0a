package sys

import (
	"errors"

	"github.com/belfry-dev/belfry/windows"
)

func identifyLive(pid int) (ID, error) {
	p, err := windows.OpenProcess(pid)
	if errors.Is(err, windows.ErrProcessGone) {
		return ID{}, ErrNoProcess
	}
	if err != nil {
		return ID{}, err
	}
	defer p.Close()
	return idOf(p), nil
}
