package sys

import (
	"errors"
	"syscall"

	"github.com/belfry-dev/belfry/darwin"
)

func identifyLive(pid int) (ID, error) {
	k, err := darwin.ReadKinfo(pid)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return ID{}, ErrNoProcess
	case err != nil:
		return ID{}, err
	case k.State == darwin.Zombie:
		return ID{}, ErrNoProcess
	}
	return identify(pid)
}
