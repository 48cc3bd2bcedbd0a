package sys

import "github.com/belfry-dev/belfry/darwin"

func stopped(id ID) bool {
	k, err := darwin.ReadKinfo(id.PID)
	return err == nil && k.Start == id.Birth && k.State == darwin.Stopped
}
