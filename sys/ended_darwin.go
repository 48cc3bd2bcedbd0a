package sys

import "github.com/belfry-dev/belfry/darwin"

// Ended asks for the leader's record, which stays until it is reaped.
func (t *groupTree) Ended() bool {
	if t.ended() {
		return true
	}
	k, err := darwin.ReadKinfo(t.id.PID)
	return err != nil || k.Start != t.id.Birth || k.State == darwin.Zombie
}
