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
	emptiness
	shim  *shimLink
	held  *holding
	total Usage         // valid once it is empty
	done  chan struct{} // run has ended
	asked atomic.Bool   // the shim was told to kill
	// lost: the shim was killed before its tree was gone.
	lost atomic.Bool
}

func newShimTree(l *leader, c *shimLink, held *holding) *shimTree {
	t := &shimTree{family: family{leader: l}, shim: c, held: held, emptiness: newEmptiness(), done: make(chan struct{})}
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
	t.prove(t.held.proof)
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
	return waking(sig, func(sig Signal) (Delivery, error) { return t.sendTwice(t.members, sig) })
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
