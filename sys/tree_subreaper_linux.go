package sys

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// shimTree is what descends from a shim, which is the leader's parent and takes
// in whatever loses its own. The shim reaps; here its word is heard.
type shimTree struct {
	family
	shim  *shimLink
	held  *holding
	empty chan struct{}
	proof Proof // valid once empty is closed, as is total
	total Usage
	done  chan struct{} // run has ended
	asked atomic.Bool   // the shim was told to kill
	// lost: the shim was killed before its tree was gone.
	lost atomic.Bool
}

func newShimTree(l *leader, c *shimLink, held *holding) *shimTree {
	t := &shimTree{family: family{leader: l}, shim: c, held: held, empty: make(chan struct{}), done: make(chan struct{})}
	l.owner(t.abandon)
	go t.run()
	time.AfterFunc(wakePause, t.attend) // in its own goroutine
	return t
}

// Guarantee tells what holds now: it may be less once the shim was killed.
func (t *shimTree) Guarantee() Guarantee {
	if !t.lost.Load() {
		return t.held.guarantee
	}
	g := t.held.lost
	if g.Kill == ScopeGroup && !t.can.groupByPidfd && t.shim.keeper.over() {
		// Nobody is left who keeps the leader's number from meaning another
		// group, and before Linux 6.9 a group has no other name.
		g.Kill, g.LeaderExit = ScopeLeader, ScopeLeader
	}
	return g
}

func (t *shimTree) Empty() <-chan struct{} { return t.empty }

func (t *shimTree) Proof() Proof {
	select {
	case <-t.empty:
		return t.proof
	default:
		return ProofNone
	}
}

// run is the tree's owner.
func (t *shimTree) run() {
	defer func() {
		close(t.done)
		if t.isReleased() {
			t.free()
		}
	}()
	var spent time.Duration // processor time of all, as last told
	for {
		w, files, err := t.shim.receive()
		closeAll(files)
		switch {
		case err != nil:
			t.outliveShim()
			return
		case w.kind == wordExit:
			t.takeExit(w)
		case w.kind == wordSpent:
			spent = time.Duration(w.arg(0))
		case w.kind == wordEmpty:
			t.takeEmpty(spent)
			return
		case w.kind == wordGone:
			t.takeExit(w)
			t.takeEmpty(time.Duration(w.arg(8)))
			return
		}
	}
}

// takeEmpty believes the shim that nothing is left; spent is what all had used.
func (t *shimTree) takeEmpty(spent time.Duration) {
	if t.isReleased() {
		return // given up before
	}
	if !t.ended() { // its init was killed before it could tell
		t.conclude(t.lastWord())
		close(t.exited)
	}
	t.total = t.used
	t.total.CPU = max(t.used.CPU, spent)
	t.proof = t.held.proof
	close(t.empty)
}

// takeExit takes the leader's status and usage out of the shim's word.
func (t *shimTree) takeExit(w word) {
	if t.ended() {
		return
	}
	t.floor = w.arg(5)
	t.conclude(linux.Exit{Code: int(w.arg(0)), Signal: syscall.Signal(w.arg(1)), Core: w.arg(2) != 0,
		Usage: linux.Rusage{CPU: time.Duration(w.arg(3)), MaxRSS: w.arg(4), Read: w.arg(6), Written: w.arg(7)}})
	close(t.exited)
}

const (
	// wakePause is the first pause before a shim that does not tell what can be
	// seen is looked at.
	wakePause = 50 * time.Millisecond
	// wakeTries is after how many looks a shim that its job keeps stopping is
	// killed: the keeper then ends the tree.
	wakeTries = 4
)

// attend sees the leader's end by itself. A shim that does not tell of it has
// been stopped, by its job for example.
func (t *shimTree) attend() {
	select {
	case <-t.exited:
		return
	default:
	}
	if t.pidfd.Wait(linux.PidfdExited) != nil {
		t.shim.sock.Close() // the host gave up
		return
	}
	for tries, pause := 0, wakePause; ; pause *= 2 {
		timer := time.NewTimer(pause)
		select {
		case <-t.exited:
			timer.Stop()
			return
		case <-t.done:
			timer.Stop()
			return
		case <-timer.C:
			tries = t.wake(tries)
		}
	}
}

// wake continues a stopped shim, kills one that was stopped too often, and hears
// of its end.
func (t *shimTree) wake(tries int) int {
	t.shim.noteEnd()
	if t.lost.Load() || !t.shim.stopped() {
		return 0
	}
	t.shim.signal(syscall.SIGCONT)
	if tries++; tries >= wakeTries {
		t.shim.signal(syscall.SIGKILL)
	}
	return tries
}

// outliveShim ends what a killed shim has left: the leader, which has the death
// signal too, what group and ancestry show, and, by the keeper's word, all.
func (t *shimTree) outliveShim() {
	t.lost.Store(true)
	t.shim.signal(syscall.SIGKILL) // it may have closed its socket alone
	t.signalSelf(SIGKILL)
	if !t.ended() {
		if t.pidfd.Wait(linux.PidfdExited) != nil {
			return // the host was closed
		}
		t.conclude(t.lastWord())
		close(t.exited)
	}
	if !t.endOrphans() {
		return
	}
	t.total = t.used
	close(t.empty)
}

// lastWord is how a leader ended whose parent is gone: the kernel's own record
// where it keeps one (6.15), else that of our SIGKILL.
func (t *shimTree) lastWord() linux.Exit {
	e := linux.Exit{Signal: syscall.SIGKILL, Usage: linux.Rusage{CPU: -1, MaxRSS: -1, Read: -1, Written: -1}}
	_ = t.pidfd.Use(func(fd int) {
		if known, ok := linux.PidfdExit(fd); ok {
			e.Code, e.Signal, e.Core = known.Code, known.Signal, known.Core
		}
	})
	return e
}

// endOrphans returns true when nothing of the tree is left, and says by what
// proof: the keeper's word, or two looks that found nobody.
func (t *shimTree) endOrphans() bool {
	keeper := t.shim.keeper.ended
	for clean, pause := 0, 5*time.Millisecond; !t.isReleased(); pause = min(2*pause, time.Second) {
		_, _ = t.sendFamily(SIGKILL) // Best effort: looked at again below.
		t.shim.keeper.wake()
		timer := time.NewTimer(pause)
		select {
		case <-t.shim.peeled:
			timer.Stop()
			t.proof = t.held.proof
			return true
		case <-keeper:
			keeper = nil
		case <-timer.C:
		}
		timer.Stop()
		if keeper != nil {
			continue // its word is worth more than a look
		}
		left, err := t.scan()
		if clean++; err != nil || len(left) > 0 {
			clean = 0
		}
		if clean == 2 {
			t.proof = ProofGroupScan
			return true
		}
	}
	return false
}

// members lists the live ones, and remembers them for when the shim is gone.
func (t *shimTree) members() []kin {
	list, _ := t.survey()
	return list
}

// survey looks until two looks agree: then nothing has moved in between, and
// the list is the kernel's account. One that never settles is told as it is.
func (t *shimTree) survey() ([]kin, Completeness) {
	var last []kin
	for look := range surveyLooks {
		if t.lost.Load() || t.shim.gone() {
			list, _ := t.scan() // Best effort: without a table there is no list.
			return list, GroupOnly
		}
		now := t.look()
		if look > 0 && slices.EqualFunc(now, last, func(a, b kin) bool { return a.pid == b.pid && a.start == b.start }) {
			if t.shim.gone() {
				continue // its number may have meant another
			}
			t.remember(now)
			return now, Exact
		}
		last = now
	}
	t.remember(last)
	return last, BestEffort
}

// surveyLooks bounds the looks at a tree that moves.
const surveyLooks = 4

// look lists the live members once.
func (t *shimTree) look() []kin {
	all, _ := linux.Descendants(t.shim.id.PID) // an error: the shim is gone
	var out []kin
	for _, st := range all {
		init := t.held.strict && st.PPID == t.shim.id.PID
		if !st.Dead() && !init {
			out = append(out, kinOf(st))
		}
	}
	return out
}

func (t *shimTree) Members() ([]Member, Completeness) {
	list, how := t.survey()
	return asMembers(list), how
}

// Signal sends to the leader's group first and then, one by one, to the
// members outside it.
func (t *shimTree) Signal(sig Signal) (Delivery, error) {
	d, err := t.sendTwice(t.members, sig)
	if wakesFirst(sig) {
		_, _ = t.sendTwice(t.members, SIGCONT)
	}
	return d, err
}

// Kill has the shim end the tree.
func (t *shimTree) Kill(ctx context.Context) (KillReport, error) {
	tries := 0
	return killRounds(ctx, t, 10*time.Millisecond, func() error {
		if t.isReleased() {
			return os.ErrClosed
		}
		t.askKill()
		tries = t.wake(tries)
		return nil
	})
}

// askKill tells the shim once; a lost one needs no telling.
func (t *shimTree) askKill() {
	if !t.asked.Swap(true) {
		_ = t.shim.send(word{kind: wordKill}) // An error: it is gone, which run sees.
	}
}

func (t *shimTree) Usage() Usage {
	select {
	case <-t.empty:
		return t.total
	default:
	}
	if t.ended() {
		return t.used
	}
	return t.running()
}

// Release frees the shim. One whose tree lives is given up: it stays until the
// tree has ended or the host closes.
func (t *shimTree) Release() error {
	if !t.letGo() {
		return nil
	}
	select {
	case <-t.done:
		t.free()
	default:
		select {
		case <-t.empty:
			<-t.done
			t.free()
		default:
		}
	}
	return nil
}

// abandon ends what is still there when the host closes.
func (t *shimTree) abandon() error {
	t.askKill()
	t.shim.signal(syscall.SIGCONT)
	return t.Release()
}

func (t *shimTree) free() {
	t.finishing.Do(func() {
		t.pidfd.Close()
		t.shim.free()
		t.finished()
	})
}

// sendTwice looks for the members before, because a signal may end them, and
// once more after it for those that were born outside the group meanwhile.
func (f *family) sendTwice(list func() []kin, sig Signal) (Delivery, error) {
	before := list()
	d, err := f.sendTo(before, sig)
	late := slices.DeleteFunc(list(), func(m kin) bool {
		return m.pgrp == f.id.PID && f.can.groupByPidfd || slices.ContainsFunc(before, func(b kin) bool { return b.pid == m.pid && b.start == m.start })
	})
	more, _ := sendRest(f.id.PID, false, late, sig, nil) // Best effort: whoever was there is told of.
	d.Sent += more.Sent
	return d, err
}
