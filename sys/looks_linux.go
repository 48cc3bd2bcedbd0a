package sys

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// looks remembers what looks at programs and directories told, so that a file
// that is the same still is not read once more. What is slow to look at is not
// remembered, and asked each time.
type looks struct {
	mu       sync.Mutex
	programs map[string]programFacts
	dirs     map[string]linux.FileNow
	last     lastLook
}

// lastLook is what the last look was at. A start that follows it closely does
// without one: between the look and the exec of any start there may be as much time.
type lastLook struct {
	path, dir string
	at        time.Time
}

// lookHolds is how long. It is far below spawnLimit.
const lookHolds = 50 * time.Millisecond

// maxLooks bounds what is remembered; one more, and all is forgotten.
const maxLooks = 64

// settled is how long a file must have been left alone: within one tick of the
// kernel's clock it can be written twice and show one change time.
const settled = time.Second

// lookAhead is preflight, but for what was looked at before and has not changed.
// What it does in that case never waits, so it needs no goroutine.
func (h *linuxHost) lookAhead(ctx context.Context, sp *Spec) (programFacts, error) {
	if facts, ok := h.looks.known(sp); ok {
		facts.recalled = true
		return facts, nil
	}
	facts, err := preflight(ctx, sp)
	if err == nil {
		h.looks.remember(sp, &facts)
	}
	return facts, err
}

func (l *looks) known(sp *Spec) (programFacts, bool) {
	l.mu.Lock()
	facts, there := l.programs[sp.Path]
	dir, also := l.dirs[sp.Dir]
	last := l.last
	l.mu.Unlock()
	if !there || !also || (sp.Approved != FileStamp{}) && sp.Approved != facts.files[0].stamp {
		return programFacts{}, false
	}
	begin := time.Now()
	if last.path == sp.Path && last.dir == sp.Dir && begin.Sub(last.at) < lookHolds {
		return facts, true
	}
	// The directory's size and times change with its content.
	now, ok := linux.LookCached(sp.Dir)
	if now.Size, now.Change = dir.Size, dir.Change; !ok || now != dir {
		return programFacts{}, false
	}
	for _, f := range facts.files {
		now, ok := linux.LookCached(f.path)
		if !ok || stampOfLook(&now) != f.stamp {
			return programFacts{}, false
		}
	}
	l.mu.Lock()
	l.last = lastLook{sp.Path, sp.Dir, begin}
	l.mu.Unlock()
	return facts, true
}

func (l *looks) remember(sp *Spec, facts *programFacts) {
	if facts.slow || facts.unread {
		return
	}
	for _, f := range facts.files {
		if time.Since(time.Unix(0, f.stamp.Change)) < settled {
			return
		}
	}
	dir, ok := linux.LookCached(sp.Dir)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.programs == nil || len(l.programs) >= maxLooks || len(l.dirs) >= maxLooks {
		l.programs, l.dirs = map[string]programFacts{}, map[string]linux.FileNow{}
	}
	l.programs[sp.Path], l.dirs[sp.Dir] = *facts, dir
}

func stampOfLook(f *linux.FileNow) FileStamp {
	return FileStamp{Dev: f.Dev, Inode: f.Inode, Size: f.Size, Change: f.Change}
}
