package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// doubles stand for everything that a Daemon touches.
type doubles struct {
	rec            PIDInfo
	alive          bool
	startErr, sick error
	starts, kills  int
}

func (d *doubles) Save(pid, port int, name, binary string, start time.Time) error {
	d.rec = PIDInfo{PID: pid, Port: port, Name: name, Binary: binary, StartTime: start}
	return nil
}
func (d *doubles) Load() (PIDInfo, error) { return d.rec, nil }
func (d *doubles) Clear() error           { d.rec = PIDInfo{}; return nil }
func (d *doubles) IsAlive() bool          { return d.alive }
func (d *doubles) Path() string           { return "" }

func (d *doubles) Start(context.Context, StartSpec) (int, error) {
	d.starts++
	if d.startErr != nil {
		return 0, d.startErr
	}
	d.alive = true
	d.rec = PIDInfo{PID: 1000 + d.starts, Port: 80, Name: "x", StartTime: time.Now()}
	return d.rec.PID, nil
}

func (d *doubles) KillProcess(context.Context, int, time.Duration) error {
	d.kills++
	d.alive = false
	return nil
}
func (d *doubles) IsProcessAlive(int) bool { return d.alive }
func (d *doubles) Check(int, string) error { return d.sick }
func (d *doubles) WaitUntilReady(context.Context, int, string, time.Duration) error {
	return d.sick
}

func TestSeams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "never")
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		x := &doubles{}
		d := NewWithDeps(Config{Name: "x", DataDir: dir}, x, x, x)
		if d.IsRunning() {
			t.Error("it runs")
		}
		info, err := d.EnsureRunning(ctx)
		if err != nil || info.PID != 1001 || info.Port != 80 || !d.IsRunning() {
			t.Fatalf("%+v, %v", info, err)
		}
		if again, err := d.EnsureRunning(ctx); err != nil || again.PID != 1001 || x.starts != 1 {
			t.Errorf("%+v, %v", again, err)
		}
		if _, err := d.Start(ctx); !errors.Is(err, ErrAlreadyRunning) {
			t.Errorf("Start: %v", err)
		}
		if info, err = d.Restart(ctx); err != nil || info.PID != 1002 || x.kills != 1 {
			t.Errorf("Restart: %+v, %v", info, err)
		}
		if err := d.HoldFor(ctx, "r"); err != nil {
			t.Error(err)
		}
		if _, err := d.EnsureRunning(ctx); !errors.Is(err, ErrStopIntent) {
			t.Errorf("held: %v", err)
		}
		d.Release()
		x.startErr = errors.New("no program")
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			if _, err := d.EnsureRunning(ctx); errors.Is(err, ErrSpawnCooldown) || err == nil {
				t.Errorf("a start that fails: %v", err)
			}
			time.Sleep(pause*time.Second - 1)
			if _, err := d.EnsureRunning(ctx); !errors.Is(err, ErrSpawnCooldown) {
				t.Errorf("before %d s are over: %v", pause, err)
			}
			time.Sleep(time.Nanosecond)
		}
		x.startErr = nil
		if _, err := d.EnsureRunning(ctx); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		x.sick = errors.New("it hangs")
		if _, err := d.EnsureRunning(ctx); !errors.Is(err, ErrUnhealthy) {
			t.Errorf("sick: %v", err)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was touched: %v", err)
	}
}
