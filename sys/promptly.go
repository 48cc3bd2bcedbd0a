//go:build linux || darwin || windows

package sys

import (
	"context"
	"time"
)

// promptly is what ask tells of a path. A file system that does not answer within the
// limit is waited for by ask's own goroutine alone, and given up here.
func promptly[T any](ctx context.Context, path string, limit time.Duration, ask func() (T, error)) (T, error) {
	type answer struct {
		told T
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		told, err := ask()
		ch <- answer{told, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var none T
	select {
	case a := <-ch:
		return a.told, a.err
	case <-timer.C:
		return none, startTimeout(path, limit)
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
