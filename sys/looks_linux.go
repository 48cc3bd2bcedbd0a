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
}

// maxLooks bounds what is remembered; one more, and all is forgotten.
const maxLooks = 64

// settled is how long a file must have been left alone: within one tick of the
// kernel's clock it can be written twice and show one change time.
const settled = time.Second

// lookAhead is preflight, but for what was looked at before and has not changed.
// What it does in that case never waits, so it needs no goroutine.
func (h *linuxHost) lookAhead(ctx context.Context, sp *Spec) (programFacts, error) {
	if facts, ok := h.looks.known(sp); ok {
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
	l.mu.Unlock()
	if !there || !also {
		return programFacts{}, false
	}
	// The directory's size and times change with its content.
	now, ok := linux.LookCached(sp.Dir)
	if now.Size, now.Change = dir.Size, dir.Change; !ok || now != dir {
		return programFacts{}, false
	}
	for i, f := range facts.files {
		now, ok := linux.LookCached(f.path)
		if !ok || stampOfLook(&now) != f.stamp {
			return programFacts{}, false
		}
		if i == 0 && (sp.Approved != FileStamp{}) && sp.Approved != f.stamp {
			return programFacts{}, false
		}
	}
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
