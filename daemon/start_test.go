package daemon

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestEnsureTwiceIsOneDaemon(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		if s, err := d.Status(); err != nil || s.State != StateStopped || s.PID != 0 {
			t.Fatalf("before: %+v, %v", s, err)
		}
		first := ensured(t, d)
		if first.State != StateRunning || first.Generation == "" || first.PID == 0 || first.Leases != 0 {
			t.Errorf("first: %+v", first)
		}
		if (first.Port != 0) != (p.Transport == TCP) {
			t.Errorf("port %d on %s", first.Port, p.Transport)
		}
		if second := ensured(t, d); second.Generation != first.Generation {
			t.Errorf("second: %+v", second)
		}
		if s, err := d.Status(); err != nil || s.Generation != first.Generation || s.Status != StatusRunning {
			t.Errorf("status: %+v, %v", s, err)
		}
		if port, err := EnsureRunning(ctxOf(t), p.config()); err != nil || port != first.Port {
			t.Errorf("the package's function: %d, %v", port, err)
		}
		if _, err := d.Start(ctxOf(t)); !errors.Is(err, ErrAlreadyRunning) || !strings.Contains(err.Error(), first.Generation) {
			t.Errorf("Start beside it: %v", err)
		}
		if err := d.Stop(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := sys.Identify(first.PID); !errors.Is(err, sys.ErrNoProcess) {
			t.Errorf("after Stop: %v", err)
		}
		if err := d.Stop(ctxOf(t)); err != nil {
			t.Errorf("second Stop: %v", err)
		}
	})
}

// Any number of starters at once make one daemon, and each gets it.
func TestManyStarters(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		for range 3 {
			var mu sync.Mutex
			generations := map[string]int{}
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					info, err := New(p.config()).EnsureRunning(ctxOf(t))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
						return
					}
					generations[info.Generation]++
				})
			}
			wg.Wait()
			if len(generations) != 1 {
				t.Fatalf("generations: %v", generations)
			}
			if err := New(p.config()).Stop(ctxOf(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestChildThatExits(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.Before = "exit"
		d := New(p.config())
		_, err := d.EnsureRunning(ctxOf(t))
		var se *StartError
		if !errors.As(err, &se) || !se.Exited || se.Exit.Code != 7 || !strings.Contains(strings.Join(se.Log, "\n"), "attic") {
			t.Fatalf("%#v (%v)", se, err)
		}
		// The next fails fast, with the first one's error.
		p.Before = ""
		_, err = New(p.config()).EnsureRunning(ctxOf(t))
		var ce *CooldownError
		if !errors.As(err, &ce) || !errors.Is(err, ErrSpawnCooldown) || !strings.Contains(err.Error(), "attic") {
			t.Fatalf("while it cools down: %v", err)
		}
		if s, err := d.Status(); err != nil || s.State != StateCooling && s.State != StateStopped {
			t.Errorf("status: %+v, %v", s, err)
		}
		// A decision of the user's does not wait.
		if _, err := New(p.config()).Start(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if loadCooldown(d.files.cooldown) != nil {
			t.Error("a start that worked left the cooldown")
		}
	})
}

func TestChildThatHangs(t *testing.T) {
	p := newPlay(t, Socket)
	p.Before = "hang"
	path, argv, _ := systest.Command("sleep")
	p.Child = append([]string{path}, argv[1:]...)
	c := p.config()
	c.Timeout = 300 * time.Millisecond
	d := New(c)
	_, err := d.EnsureRunning(ctxOf(t))
	if !errors.Is(err, ErrStartTimeout) {
		t.Fatal(err)
	}
	all, err := sys.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		b, _ := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(itoa(q.ID.PID)), "cmdline"))
		if strings.Contains(string(b), p.Dir) {
			t.Errorf("process %d is left: %q", q.ID.PID, b)
		}
	}
	if readCooldown(d.files.cooldown, time.Now()) == nil {
		t.Error("the daemon's own timeout is a failed start")
	}
}

// The caller's deadline is no failure of the daemon's.
func TestCallersDeadline(t *testing.T) {
	p := newPlay(t, Socket)
	p.Before = "slow"
	d := New(p.config())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.EnsureRunning(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if loadCooldown(d.files.cooldown) != nil {
		t.Error("it caused a cooldown")
	}
	ensured(t, d)
}

func TestWrapper(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.Before = "wrap"
		d := New(p.config())
		info := ensured(t, d)
		if again := ensured(t, d); again.Generation != info.Generation {
			t.Errorf("%+v, then %+v", info, again)
		}
	})
}

func TestServeBesideAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		info := ensured(t, New(p.config()))
		err := Serve(ctxOf(t), p.config(), nil)
		if !errors.Is(err, ErrAlreadyRunning) || !strings.Contains(err.Error(), itoa(info.PID)) {
			t.Errorf("%v", err)
		}
	})
}

// What a daemon hands on to what it runs says nothing of its own start.
func TestHandOffEndsInTheDaemon(t *testing.T) {
	t.Setenv(readyVar, "999")
	t.Setenv(modeVar, "1")
	t.Setenv(dirVar, "/x")
	if h := takeReadiness(); h.given() {
		t.Error("a descriptor that is not open is a readiness pipe")
	}
	for _, name := range []string{readyVar, modeVar, dirVar} {
		if v, there := os.LookupEnv(name); there {
			t.Errorf("%s=%s is left", name, v)
		}
	}
}

func TestSocketLeftovers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pipe leaves nothing behind")
	}
	p := newPlay(t, Socket)
	d := New(p.config())
	first := ensured(t, d)
	kill(t, first.PID)
	if _, err := os.Lstat(d.files.socket); err != nil {
		t.Fatalf("a killed daemon leaves its socket: %v", err)
	}
	if second := ensured(t, d); second.Generation == first.Generation {
		t.Error("the same generation")
	}
	if err := d.Stop(ctxOf(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(d.files.socket); !os.IsNotExist(err) {
		t.Errorf("a stopped daemon leaves its socket: %v", err)
	}
	if err := os.WriteFile(d.files.socket, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := d.EnsureRunning(ctxOf(t))
	if err == nil || !strings.Contains(err.Error(), "d1.sock") {
		t.Errorf("a file in the socket's place: %v", err)
	}
	if b, _ := os.ReadFile(d.files.socket); string(b) != "precious" {
		t.Errorf("the file: %q", b)
	}
	os.Remove(d.files.socket)
	if _, err := d.Restart(ctxOf(t)); err != nil {
		t.Error(err)
	}
}

func TestStarterKilled(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	for i := range 5 {
		path, argv := p.starter()
		cmd := exec.Command(path, argv...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(i) * 7 * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		ensured(t, d)
		if err := d.Stop(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func init() {
	systest.Register("daemon-starter", func(args []string) int {
		c := Config{Name: "test", DataDir: args[0], Transport: Socket, Binary: args[1], Args: args[2:], Timeout: patience}
		if _, err := New(c).EnsureRunning(context.Background()); err != nil {
			return 1
		}
		return 0
	})
}

func (p play) starter() (string, []string) {
	bin, args := p.command()
	path, argv, _ := systest.Command("daemon-starter", append([]string{p.Dir, bin}, args...)...)
	return path, argv[1:]
}
