package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// found is a daemon that runs.
type found struct {
	link    *link
	started bool // by us
}

func (o DialOptions) greeting() (greeting, error) {
	g := greeting{Role: o.Role}
	if g.Role == "" || g.Role == roleControl {
		g.Role = "client"
	}
	if o.Meta != nil {
		b, err := json.Marshal(o.Meta)
		if err != nil {
			return greeting{}, fmt.Errorf("encode client data: %w", err)
		}
		g.Meta = b
	}
	return g, nil
}

// ensure gives a connection to a daemon that has said hello and serves. The
// warm path dials once and takes no lock. explicit starts heed neither hold nor
// cooldown.
func (d *Daemon) ensure(ctx context.Context, g greeting, explicit bool) (found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Timeout, ErrStartTimeout)
	defer cancel()
	replaced := false
	for {
		l, err := d.connect(ctx, g)
		if err == nil && l.hello.State == StateDraining {
			err = l.gone(ctx)
			l.Close()
			if err != nil {
				return found{}, d.drainTimeout(ctx)
			}
			continue
		}
		switch {
		case err == nil:
			l, err = d.accept(ctx, l, &replaced)
			if err != nil || l != nil {
				return found{link: l}, err
			}
			continue // it left for us
		case errors.Is(err, ErrDraining):
			if err := d.outlive(ctx); err != nil {
				return found{}, err
			}
			continue
		case !errors.Is(err, errNobody):
			return found{}, err
		}
		f, err := d.startOnce(ctx, g, explicit)
		if f.link != nil && d.missing(&f.link.hello) {
			f.link.Close()
			return found{}, d.incompatible(&f.link.hello)
		}
		if err != nil || f.link != nil {
			return f, err
		}
		if err := pause(ctx); err != nil {
			return found{}, err
		}
	}
}

// drainTimeout is the error of one whose time was over before an old daemon had
// left.
func (d *Daemon) drainTimeout(ctx context.Context) error {
	return fmt.Errorf("%w: the daemon that ran has not left yet: %w", ErrDraining, context.Cause(ctx))
}

// accept decides about a daemon that answers. A nil link without an error says
// that it has left and another may be started.
func (d *Daemon) accept(ctx context.Context, l *link, replaced *bool) (*link, error) {
	v := judge(&d.cfg, &l.hello)
	if v == replace && *replaced {
		// What replaced it is no better: our own build lacks something.
		v = refuse
		if _, overlap := d.cfg.protocol.common(l.hello.Protocol); overlap && !d.missing(&l.hello) {
			v = use
		}
	}
	switch v {
	case use:
		return l, nil
	case refuse:
		l.Close()
		return nil, d.incompatible(&l.hello)
	}
	*replaced = true
	l.Close()
	err := d.command(ctx, opReplace, l.hello.Generation)
	if errors.Is(err, errNobody) || errors.Is(err, errBusy) {
		err = nil // it has left by itself, or somebody came first: look again
	}
	return nil, err
}

func (d *Daemon) incompatible(h *Hello) error {
	return fmt.Errorf("%w: process %d is version %q with protocol %d to %d and capabilities %v; this is %q with %d to %d and needs %v",
		ErrVersion, h.PID, h.Version, h.Protocol.Min, h.Protocol.Max, h.Capabilities,
		d.cfg.Version, d.cfg.protocol.Min, d.cfg.protocol.Max, d.cfg.Requires)
}

func (d *Daemon) missing(h *Hello) bool {
	for _, r := range d.cfg.Requires {
		if !h.can(r) {
			return true
		}
	}
	return false
}

// outlive waits for a draining daemon to be gone.
func (d *Daemon) outlive(ctx context.Context) error {
	l, err := d.connect(ctx, greeting{Role: roleControl})
	if err != nil {
		if errors.Is(err, errNobody) || errors.Is(err, ErrDraining) {
			return pause(ctx)
		}
		return err
	}
	defer l.Close()
	if l.hello.State != StateDraining {
		return nil
	}
	if l.gone(ctx) != nil {
		return d.drainTimeout(ctx)
	}
	return nil
}

// startOnce starts a daemon if nobody else is about to. Without a link and an
// error the caller looks again.
func (d *Daemon) startOnce(ctx context.Context, g greeting, explicit bool) (found, error) {
	if err := d.files.make(d.cfg.Transport == Socket); err != nil {
		return found{}, err
	}
	unlock, err := sys.TryLock(d.files.startLock)
	if err != nil || unlock == nil {
		return found{}, err
	}
	defer unlock()
	// Another may have won between our look and the lock.
	if l, err := d.connect(ctx, greeting{Role: roleControl}); err == nil {
		l.Close()
		return found{}, nil
	} else if !errors.Is(err, errNobody) {
		if errors.Is(err, ErrDraining) {
			err = nil
		}
		return found{}, err
	}
	now := time.Now()
	if held := readHold(d.files.hold, now); held != nil && !explicit {
		return found{}, &HeldError{*held}
	}
	if c := readCooldown(d.files.cooldown, now); c != nil && !explicit && d.cfg.SpawnCooldown > 0 {
		return found{}, &CooldownError{*c}
	}
	err = d.spawn(ctx)
	switch {
	case errors.Is(err, ErrAlreadyRunning):
		return found{}, nil // somebody's foreground daemon came first
	case err != nil:
		d.failed(ctx, err)
		return found{}, err
	}
	// Best effort: a pause that is left over only delays a start.
	_ = remove(d.files.cooldown)
	l, err := d.connect(ctx, g)
	if err != nil {
		if errors.Is(err, errNobody) || errors.Is(err, ErrDraining) {
			err = nil
		}
		return found{}, err
	}
	return found{link: l, started: true}, nil
}

// failed notes a failed start for those who come next. The end of the caller's
// own time is no failure of the daemon's.
func (d *Daemon) failed(ctx context.Context, err error) {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrStartTimeout) || d.cfg.SpawnCooldown <= 0 {
		return
	}
	// Best effort: without the marker the next caller tries at once.
	_ = writeJSON(d.files.cooldown, nextCooldown(loadCooldown(d.files.cooldown), d.cfg.SpawnCooldown, time.Now(), err.Error()))
}
