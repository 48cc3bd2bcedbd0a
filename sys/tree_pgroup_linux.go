package sys

import (
	"context"
	"os"
	"time"
)

// groupTree holds a leader's process group, and what ancestry finds besides.
type groupTree struct {
	family
	emptiness
	done chan struct{} // run has ended
}

func newGroupTree(l *leader) *groupTree {
	t := &groupTree{family: family{leader: l}, emptiness: newEmptiness(), done: make(chan struct{})}
	l.owner(t.Release)
	go t.run()
	return t
}

func (t *groupTree) Guarantee() Guarantee { return groupGuarantee }

var groupGuarantee = Guarantee{
	Mechanism: ProcessGroup, Kill: ScopeGroup, LeaderExit: ScopeGroup,
	SupervisorDeath: ScopeLeader, HelperDeath: ScopeLeader,
}

// run is the tree's owner.
func (t *groupTree) run() {
	defer func() {
		if t.isReleased() {
			t.finish()
		}
		close(t.done)
	}()
	if t.observe() != nil {
		return // the host was closed
	}
	close(t.exited)
	if t.outlast() {
		t.prove(ProofGroupScan)
	}
}

// Signal sends to the group first and then, one by one, to those outside it.
func (t *groupTree) Signal(sig Signal) (Delivery, error) {
	return waking(sig, t.sendFamily)
}

// Kill repeats until nobody is found: what a member started meanwhile, outside
// the group, is met by the next round.
func (t *groupTree) Kill(ctx context.Context) (KillReport, error) {
	return killRounds(ctx, t, 20*time.Millisecond, func() error {
		_, err := t.sendFamily(SIGKILL)
		if t.isReleased() {
			return os.ErrClosed
		}
		return err
	})
}

// killRounds calls round until the tree is empty, at ever longer pauses.
func killRounds(ctx context.Context, t Tree, pause time.Duration, round func() error) (KillReport, error) {
	begin := time.Now()
	for ; ; pause = min(2*pause, 100*time.Millisecond) {
		var err error
		select {
		case <-t.Empty():
		default:
			err = round()
		}
		timer := time.NewTimer(pause)
		select {
		case <-t.Empty():
			timer.Stop()
			return KillReport{Proof: t.Proof(), Took: time.Since(begin)}, nil
		case <-ctx.Done():
			timer.Stop()
			left, _ := t.Members()
			return KillReport{Survivors: left, Took: time.Since(begin)}, ctx.Err()
		case <-timer.C:
		}
		if err == os.ErrClosed {
			return KillReport{Took: time.Since(begin)}, err
		}
	}
}

func (t *groupTree) Members() ([]Member, Completeness) {
	members, err := t.scan()
	if err != nil {
		return nil, BestEffort
	}
	return asMembers(members), GroupOnly
}

func (t *groupTree) Usage() Usage {
	if t.ended() {
		return t.used
	}
	return t.running()
}

// Release reaps the leader if it has ended. One that still lives is given up:
// it is reaped when it ends.
func (t *groupTree) Release() error {
	t.letGo()
	if t.ended() {
		<-t.done
		t.finish()
	}
	return nil
}
