package sys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/belfry-dev/belfry/linux"
)

// sweepLock is the file that lets one sweep work at a time, so that none takes
// another's look at a record for the life of its supervisor.
const sweepLock = "sweep.lock"

// sweeper makes one sweep in the background.
type sweeper struct {
	mu     sync.Mutex
	cancel context.CancelFunc // nil before the start
	done   chan struct{}
}

// start sweeps, unless that was begun or stopped before.
func (s *sweeper) start(sweep func(context.Context) ([]SweepResult, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		return
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		// Best effort: what could not be swept is told by doctor --sweep.
		_, _ = sweep(ctx)
	}()
}

// stop gives a sweep up that is under way and waits for its end.
func (s *sweeper) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		return
	}
	if s.cancel != nil {
		s.cancel()
		<-s.done
		s.cancel = nil
	}
}

// sweepRecords looks at every record in dir.
func sweepRecords(ctx context.Context, dir string) ([]SweepResult, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := OwnDir(dir); err != nil {
		return nil, fmt.Errorf("look at the directory of records: %w", err)
	}
	unlock, err := Lock(ctx, filepath.Join(dir, sweepLock))
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	var out []SweepResult
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), containerPrefix) || !strings.HasSuffix(e.Name(), recordSuffix) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if r, there := sweepRecord(filepath.Join(dir, e.Name())); there {
			out = append(out, r)
		}
	}
	return out, nil
}

// sweepRecord deals with one record; false: its owner has just removed it.
func sweepRecord(path string) (SweepResult, bool) {
	res := SweepResult{Record: path}
	unknown := func(err error) (SweepResult, bool) {
		res.Outcome, res.Detail = SweptUnknown, err.Error()
		return res, true
	}
	l, err := OpenLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return res, false
	}
	if err != nil {
		return unknown(err)
	}
	defer l.Close()
	free, err := l.TryShared()
	if err != nil {
		return unknown(err)
	}
	text, err := io.ReadAll(io.LimitReader(l.f, maxRecord))
	if err != nil {
		return unknown(err)
	}
	r, err := parseRecord(text)
	res.Container = r.Control
	if !free {
		res.Outcome = SweptLive
		return res, true
	}
	if !l.AtPath(path) {
		return res, false
	}
	if err == nil {
		res.Outcome, err = r.standing(path)
	} else if errors.Is(err, errNothingNoted) {
		res.Outcome, err = SweptStale, nil
	}
	if err != nil {
		return unknown(err)
	}
	if res.Outcome == SweptEnded {
		res.Ended = len(linux.CgroupAt(r.Control).Procs())
		err = endGroup(linux.CgroupAt(r.Control))
	}
	if err == nil && res.Outcome != SweptLive {
		if r.Boot == linux.BootID() {
			endMarked(r.Marks)
		}
		endStoppedGuardian(r.Control)
		err = r.removeLeaf()
		if err == nil {
			err = os.Remove(path)
		}
	}
	if err != nil {
		res.Outcome, res.Detail = SweptFailed, err.Error()
	}
	return res, true
}

// standing tells what to do about a record whose lock is free: SweptStale when
// nothing is left, SweptEnded when its container is there and certainly the one
// that was noted, SweptLive when its process is there all the same. The error
// says why nothing may be done.
func (r *record) standing(path string) (SweepOutcome, error) {
	boot := linux.BootID()
	if boot == "" {
		return "", errors.New("the boot id cannot be read, so nothing is certain")
	}
	if r.Boot != boot {
		return SweptStale, nil // no process and no control group outlives its boot
	}
	if r.PIDs != 0 && r.PIDs == linux.NamespaceID("pid") {
		if st, err := linux.ReadStat("/proc", r.PID); err == nil && st.Start == r.Start && !st.Dead() {
			return SweptLive, nil
		}
	}
	base := filepath.Base(r.Control)
	if !strings.HasPrefix(base, containerPrefix) || base+recordSuffix != filepath.Base(path) || !filepath.IsAbs(r.Control) {
		return "", fmt.Errorf("%s is no container of this record", r.Control)
	}
	now, err := fileIDOf(r.Control)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.missing()
	case err != nil:
		return "", err
	case !linux.IsCgroup2(r.Control):
		return "", fmt.Errorf("%s is no control group", r.Control)
	case r.Made != fileID{} && now != r.Made:
		return "", fmt.Errorf("%s is not the directory that was noted", r.Control)
	}
	return SweptEnded, nil
}

// missing tells whether a container that is not seen is gone, or only not shown
// here: another mount namespace may have other mounts.
func (r *record) missing() (SweepOutcome, error) {
	if r.Mounts != 0 && r.Mounts == linux.NamespaceID("mnt") {
		return SweptStale, nil
	}
	if above, err := fileIDOf(filepath.Dir(r.Control)); err == nil && above == r.Above {
		return SweptStale, nil
	}
	return "", fmt.Errorf("%s is not seen from this mount namespace", r.Control)
}

// removeLeaf removes the group in which the supervisor and its guardian were.
func (r *record) removeLeaf() error {
	base := filepath.Base(r.Leaf)
	if !strings.HasPrefix(base, containerPrefix) || !linux.IsCgroup2(r.Leaf) {
		return nil
	}
	return linux.CgroupAt(r.Leaf).Remove()
}
