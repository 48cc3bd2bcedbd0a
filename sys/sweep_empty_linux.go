package sys

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/belfry-dev/belfry/linux"
)

// claimTries bounds how often a directory that a sweep took for a dead host's is
// made again: between its making and its claim it looks like one.
const claimTries = 100

// claim makes the directory of a host and locks it for life, so that no sweep
// takes it for one whose host is dead.
func claim(parent, name string) (*linux.HeldCgroup, error) {
	for range claimTries {
		made, err := linux.MakeCgroup(parent, name)
		if errors.Is(err, fs.ErrExist) {
			linux.Pause(peelPause) // the sweep that holds it is about to remove it
			continue
		}
		if err != nil {
			return nil, err
		}
		dir, err := made.Hold()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			_ = made.Remove() // Best effort: it is empty.
			return nil, err
		}
		if dir.Lock() == nil && dir.AtPath() {
			return dir, nil
		}
		dir.Close()
	}
	return nil, errors.New(parent + "/" + name + " was removed each time it was made")
}

// sweepEmpty removes the directories of dead hosts that no record tells of: one
// was never kept, or went with the runtime directory. Nothing lives in them, so
// there is nobody who could be meant by mistake, and nothing to tell. What is
// populated is left to its guardian.
func sweepEmpty(ctx context.Context, parent string) {
	names, err := linux.CgroupAt(parent).Children()
	if err != nil {
		return // without rights to look there is nothing to remove either
	}
	for _, name := range names {
		if ctx.Err() == nil && isHostDir(name) {
			removeIfLeft(filepath.Join(parent, name))
		}
	}
}

// isHostDir tells whether a name is one that makes hosts' directories known.
func isHostDir(name string) bool {
	random, ok := strings.CutPrefix(name, containerPrefix)
	b, err := hex.DecodeString(random)
	return ok && err == nil && len(b) == randomBytes
}

// removeIfLeft removes a directory that no host has locked and nothing lives in.
func removeIfLeft(path string) {
	dir, err := linux.CgroupAt(path).Hold()
	if err != nil {
		return
	}
	defer dir.Close()
	if dir.Lock() != nil || dir.Watch() != nil {
		return
	}
	if populated, _, err := dir.State(); err == nil && !populated {
		_ = dir.Remove() // Best effort: the next sweep meets it again.
	}
}
