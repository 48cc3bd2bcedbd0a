package sys

// Ended asks the leader's handle, which is signalled at its end.
func (t *jobTree) Ended() bool {
	select {
	case <-t.exited:
		return true
	default:
		return t.leader.Ended()
	}
}
