package sys_test

import (
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// TestZombieHeld: where the group can only be signalled by its number, that
// number is not given back before the group is empty and the tree released.
func TestZombieHeld(t *testing.T) {
	h := newHost(t, sys.ProcessGroup)
	sys.WithoutPidfdGroups(h)
	r := program(t, h, "/bin/sh", "-c", "(read x < "+fifoHeld(t)+"; echo late) & exit 0")
	wait(t, "exited", r.Exited())
	held := func(when string) {
		t.Helper()
		if err := syscall.Kill(r.Leader().PID, 0); err != nil {
			t.Errorf("%s the leader's number is free: %v", when, err)
		}
	}
	for range 3 {
		if list, _ := r.Members(); len(list) != 1 {
			t.Fatalf("members %v", list)
		}
		held("while a member lives")
	}
	openFifo(t)
	wait(t, "empty", r.Empty())
	held("before the release")
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if id, err := h.Lookup(r.Leader().PID); err == nil && id.Same(r.Leader()) == sys.Yes {
		t.Error("the leader is still held after the release")
	}
}
