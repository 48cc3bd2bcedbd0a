package job

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/belfry-dev/belfry/sys"
)

// A leader that died of SIGKILL is put down to memory only where the kernel
// counts a kill of its own, and to nobody's kill but the first cause.
func TestEndedByMemory(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kills  int
		code   int
		signal sys.Signal
		onExit OnExit
		state  State
		by     EndedBy
	}{
		{"the kernel's kill", 2, 0, sys.SIGKILL, Reap, Killed, ByMemory},
		{"the kernel's kill, waited for", 1, 0, sys.SIGKILL, Wait, Killed, ByMemory},
		{"somebody's kill", 0, 0, sys.SIGKILL, Reap, Killed, BySignal},
		{"a kill where nobody counts", -1, 0, sys.SIGKILL, Reap, Killed, BySignal},
		{"another signal", 1, 0, sys.SIGTERM, Reap, Killed, BySignal},
		{"a child was killed, the leader exits", 1, 137, 0, Reap, Exited, ByExit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newFakeTree()
				tree.limits = []sys.LimitRecord{{Limit: sys.LimitMemory, Applied: 4096, Enforced: true}}
				tree.evidence = sys.LimitEvidence{Memory: sys.Tripped, MemoryKills: tc.kills}
				s, sp := fakeStore(t, Config{}, tree)
				sp.OnExit = tc.onExit
				j := mustRun(t, s, sp)
				want(t, "limits", len(j.Snapshot().Limits), 1)
				tree.all(tc.code, tc.signal)
				<-j.Done()
				snap := j.Snapshot()
				want(t, "state", snap.State, tc.state)
				want(t, "ended by", snap.EndedBy, tc.by)
				if snap.Evidence == nil || snap.Evidence.Memory != sys.Tripped {
					t.Errorf("evidence %+v", snap.Evidence)
				}
				s.Close(t.Context())
			})
		})
	}
}

// The launcher gets floor and limits as they were asked for; its refusal is a
// job born failed that tells of each limit.
func TestLimitsReachTheLauncher(t *testing.T) {
	s, sp := fakeStore(t, Config{})
	defer s.Close(t.Context())
	var got sys.Spec
	records := []sys.LimitRecord{{Limit: sys.LimitTasks, Requested: 7, Reason: sys.LimitNotDelegated}}
	s.cfg.Launcher = fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		got = sp
		return nil, &sys.StartError{Code: sys.CodeLimitUnavailable, Detail: "no", Limits: records, Err: errors.ErrUnsupported}
	}}
	sp.Contain, sp.AllowWeaker, sp.Limits = ContainTree, true, Limits{Tasks: 7}
	j := mustRun(t, s, sp)
	<-j.Done()
	if got.Want != sys.LevelTree || !got.AllowWeaker || got.Limits != sp.Limits {
		t.Errorf("the launcher was asked for %+v", got)
	}
	snap := j.Snapshot()
	want(t, "state", snap.State, Failed)
	want(t, "ended by", snap.EndedBy, BySpawnFailed)
	d := snap.Diagnostic
	if d == nil || d.Code != "limit_unavailable" || d.Reason != ReasonSpawn || len(d.Limits) != 1 || d.Limits[0] != records[0] {
		t.Errorf("diagnostic %+v", d)
	}
}
