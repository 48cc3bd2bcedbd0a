package sys

import (
	"context"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

// lockRetry is how often a taken lock is tried again: the systems' own waits
// for a file lock cannot be given up.
const lockRetry = 20 * time.Millisecond

// Lock takes the exclusive lock on the file at path, which is made when it is
// missing, and waits for it until ctx ends. The lock belongs to this process:
// the kernel gives it back when the process ends. It holds among programs of
// one machine that ask for it; nobody else is kept out.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	l := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(lockFlag))
	if _, err := l.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, Obstacle(path, err))
	}
	return l.Close, nil
}

// TryLock takes the lock of Lock if nobody has it; unlock is nil when somebody
// has. A child of another thread between its fork and its exec may have it for
// a moment after its owner gave it back.
func TryLock(path string) (unlock func() error, err error) {
	l := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(lockFlag))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, Obstacle(path, err))
	}
	if !ok {
		return nil, l.Close()
	}
	return l.Close, nil
}
