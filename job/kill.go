package job

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// The signals that a queued job's record shows.
const (
	QueueCancelled = "queue-cancelled"
	QueueDrained   = "queue-drained-at-shutdown"
)

// Kill is how to end a job, or what to send it.
type Kill struct {
	// Signal is a signal name; "" is SIGTERM. SIGTERM is the whole ladder: soft
	// stop, grace, hard kill. SIGKILL is the hard kill at once. Any other is
	// sent once and ends the job only if the tree goes within a second.
	Signal string
	// Grace is the time between soft stop and hard kill; nil is the store's.
	Grace *time.Duration
	// NoWait answers when the first signal is sent instead of at the end.
	NoWait bool
}

// Kill ends the job's whole tree. It returns when the record is terminal, or
// as k and ctx say; Snapshot then tells what was proved. On a terminal job it
// changes nothing.
func (j *Job) Kill(ctx context.Context, k Kill) error {
	sig := sys.SIGTERM
	if k.Signal != "" {
		s, err := sys.ParseSignal(k.Signal)
		if err != nil {
			return &ArgumentError{"signal", fmt.Sprintf("must be the name of a signal: %v", err)}
		}
		sig = s
	}
	if j.terminal() {
		return nil
	}
	if j.store.unqueue(j) {
		j.cancelQueued(ByQueueCancelled, QueueCancelled)
		j.forget()
		return nil
	}
	a := ask{by: ByKill, signal: sig, grace: or(k.Grace, j.store.cfg.grace()), sent: make(chan error, 1)}
	if j.detach {
		tell(a.sent, j.killDetached(ctx, sig, a.grace))
	} else if !j.deliver(ctx, a) {
		return ctx.Err()
	}
	select {
	case err := <-a.sent:
		if err != nil {
			return fmt.Errorf("send %s to job %s: %w", sig, j.id, err)
		}
	case <-j.done:
		return nil
	}
	if k.NoWait {
		return nil
	}
	var window <-chan time.Time
	if !a.ladder() {
		t := time.NewTimer(signalWindow)
		defer t.Stop()
		window = t.C
	}
	select {
	case <-j.done:
	case <-j.left:
		return errLeft
	case <-window:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// deliver hands an ask to the owner of a job that is starting or running;
// false means that ctx ended first.
func (j *Job) deliver(ctx context.Context, a ask) bool {
	select {
	case j.asks <- a:
	case <-j.done:
		tell(a.sent, nil)
	case <-ctx.Done():
		return false
	}
	return true
}
