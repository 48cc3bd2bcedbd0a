package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Hold stops the daemon and forbids EnsureRunning to start one, until Release,
// Start or Restart: HoldFor without a reason.
func (d *Daemon) Hold(ctx context.Context) error { return d.HoldFor(ctx, "") }

// HoldFor is Hold with a reason, which whoever is refused a start is told.
func (d *Daemon) HoldFor(ctx context.Context, reason string) error {
	return d.HoldUntil(ctx, reason, time.Time{})
}

// HoldUntil is HoldFor that ends by itself; the zero time is never. It reports
// success only once nobody answers any more. When the daemon cannot be stopped,
// the hold is in force all the same and the error says what still answers. The
// daemon is not ended by force.
func (d *Daemon) HoldUntil(ctx context.Context, reason string, until time.Time) error {
	if err := d.cfg.Validate(); err != nil {
		return err
	}
	held := Held{Since: time.Now(), By: me(), Reason: reason, Until: until}
	if d.seams != nil {
		return d.seams.hold(ctx, held)
	}
	if err := d.mark(ctx, held); err != nil {
		return wrap("hold", d.cfg.Name, err)
	}
	if _, err := d.shutdown(ctx); err != nil {
		return wrap("hold", d.cfg.Name, fmt.Errorf("starts are forbidden, and it still runs: %w", err))
	}
	l, err := d.connect(ctx, greeting{Role: roleControl})
	switch {
	case err == nil:
		l.Close()
		return wrap("hold", d.cfg.Name, fmt.Errorf("starts are forbidden, and %w", alreadyRunning(l.hello.info())))
	case errors.Is(err, errNobody):
		return nil
	}
	return wrap("hold", d.cfg.Name, err)
}

// mark writes the marker between two starts: whoever has passed the check
// before it has its daemon up, and that one is stopped after it.
func (d *Daemon) mark(ctx context.Context, held Held) error {
	if err := d.files.make(d.cfg.Transport == Socket); err != nil {
		return err
	}
	unlock, err := sys.Lock(ctx, d.files.startLock)
	if err != nil {
		return err
	}
	return errors.Join(writeJSON(d.files.hold, held), unlock())
}

// Release ends a hold. Nothing is started.
func (d *Daemon) Release() {
	if d.seams != nil {
		d.seams.release()
		return
	}
	// Best effort: a marker that cannot be removed is what Status goes on telling.
	_ = remove(d.files.hold)
}
