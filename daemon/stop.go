package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// stopMargin is how much longer than its own budget a daemon is waited for.
const stopMargin = 2 * time.Second

// errBusy: a daemon was asked to leave if nobody needs it, and somebody does.
var errBusy = errors.New("the daemon is in use")

// Stop ends the daemon: it is asked to drain, and one that has not left within
// its budget (Config.ShutdownTimeout, a fifth, and 2 s), or that does not answer,
// is ended by force, with its descendants. None is no error. When ctx ends while
// it drains, nothing is killed and the drain goes on.
func (d *Daemon) Stop(ctx context.Context) error {
	if err := d.cfg.Validate(); err != nil {
		return err
	}
	if d.seams != nil {
		return d.seams.stop(ctx)
	}
	budget := d.cfg.ShutdownTimeout + d.cfg.ShutdownTimeout/5 + stopMargin
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	id, err := d.shutdown(limited)
	var hung *UnresponsiveError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return wrap("stop", d.cfg.Name, context.Cause(ctx))
	case errors.As(err, &hung):
		id = hung.ID
	case limited.Err() == nil:
		return wrap("stop", d.cfg.Name, err)
	}
	if id.PID == 0 || id.PID == os.Getpid() {
		return wrap("stop", d.cfg.Name, err)
	}
	err = sys.EndProcess(ctx, id)
	if err != nil && !errors.Is(err, sys.ErrNoProcess) {
		return wrap("stop", d.cfg.Name, err)
	}
	return nil
}

// Shutdown is Stop without force: it asks the daemon to drain and waits until
// it has left or ctx ends, which leaves the drain going on. A daemon that does
// not answer is an *UnresponsiveError.
func (d *Daemon) Shutdown(ctx context.Context) error {
	if err := d.cfg.Validate(); err != nil {
		return err
	}
	if d.seams != nil {
		return d.seams.stop(ctx)
	}
	if _, err := d.shutdown(ctx); err != nil {
		return wrap("stop", d.cfg.Name, err)
	}
	return nil
}

// shutdown tells who was asked, as soon as that is known.
func (d *Daemon) shutdown(ctx context.Context) (sys.ID, error) {
	l, err := d.order(ctx, opStop, "")
	if errors.Is(err, errNobody) {
		return sys.ID{}, d.departed(ctx)
	}
	if err != nil {
		return sys.ID{}, err
	}
	defer l.Close()
	if err := l.gone(ctx); err != nil {
		return l.id, fmt.Errorf("process %d still drains: %w", l.hello.PID, context.Cause(ctx))
	}
	return l.id, over(ctx, l.id)
}

// departed waits for a daemon that has closed its door and not ended yet.
func (d *Daemon) departed(ctx context.Context) error {
	r, err := loadRecord(d.files.info)
	if err != nil {
		return nil // none, or none that could be read: nobody to wait for
	}
	return over(ctx, r.Identity.id())
}

// over waits for the end of a process that has said goodbye.
func over(ctx context.Context, id sys.ID) error {
	if id.PID == os.Getpid() {
		return nil // Serve runs in this process
	}
	for id.Alive() == sys.Yes {
		if err := pause(ctx); err != nil {
			return fmt.Errorf("process %d has not ended yet: %w", id.PID, err)
		}
	}
	return nil
}

// order gives a command; the connection then ends when the daemon has left. A
// generation that is not empty must be the daemon's.
func (d *Daemon) order(ctx context.Context, op, generation string) (*link, error) {
	l, err := d.connect(ctx, greeting{Role: roleControl, Op: op, Generation: generation})
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	stop := closeOnEnd(limited, l.conn)
	var out outcome
	err = readMessage(l.r, &out)
	if !stop() {
		err = limited.Err()
	}
	switch {
	case err != nil:
		l.Close()
		return nil, d.classify(ctx, limited, l.id, err)
	case !out.Done:
		l.Close()
		return nil, fmt.Errorf("%w: %s", errBusy, out.Error)
	}
	return l, nil
}

// command gives an order and waits until the daemon has left.
func (d *Daemon) command(ctx context.Context, op, generation string) error {
	l, err := d.order(ctx, op, generation)
	if err != nil {
		return err
	}
	defer l.Close()
	if l.gone(ctx) != nil {
		return d.drainTimeout(ctx)
	}
	return over(ctx, l.id)
}
