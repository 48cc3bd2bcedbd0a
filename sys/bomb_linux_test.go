package sys_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("bomb", bomb)
	systest.Register("bomb-run", bombRun)
}

// bombSize is how many processes a bomb may have at once.
const bombSize = 300

// bomb fills its share of processes with ones that fork for ever, each into a
// session of its own: LEASH LOCK. A process's place is a lock on one byte of a
// file, which its parent takes before and which the kernel frees at its end.
func bomb(args []string) int {
	f, err := os.OpenFile(args[1], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 1
	}
	f.Close()
	bombFork(args)
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		if bombCount(args[1]) == bombSize {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stdout, "only", bombCount(args[1]))
			return 1
		}
	}
	fmt.Fprintln(os.Stdout, "full")
	time.Sleep(time.Minute)
	return 0
}

// ofdSetLock is F_OFD_SETLK (3.15): the lock belongs to the open file, which a
// child shares.
const ofdSetLock = 37

// bombFork starts one process in every place that is free.
func bombFork(args []string) {
	for i := range bombSize {
		place, err := os.OpenFile(args[1], os.O_RDWR, 0)
		if err != nil {
			return
		}
		l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(i), Len: 1}
		if syscall.FcntlFlock(place.Fd(), ofdSetLock, &l) == nil {
			path, argv, env := systest.Command("bomb-run", args...)
			_, _ = syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, // Best effort: the next has more luck.
				Files: []uintptr{place.Fd(), place.Fd(), place.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true}})
		}
		place.Close()
	}
}

// bombRun forks for as long as the leash is there.
func bombRun(args []string) int {
	for {
		if _, err := os.Stat(args[0]); err != nil {
			return 0
		}
		bombFork(args)
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

// bombCount is the number of slots that are taken.
func bombCount(lock string) int {
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	n := 0
	for i := range bombSize {
		l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(i), Len: 1}
		if syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l) == nil && l.Type != syscall.F_UNLCK {
			n++
		}
	}
	return n
}

// TestForkBomb ends a bomb of 300 processes that fork for ever on every rung
// that holds a tree.
func TestForkBomb(t *testing.T) {
	systest.Spare("bomb", "bomb-run")
	if os.Getenv("BELFRY_ROUNDS") == "" {
		t.Skip("loads the machine for seconds: see make rounds")
	}
	for _, m := range everyRung {
		if m == sys.ProcessGroup {
			continue // holds no tree
		}
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			for i := range rounds(t, 5) {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					token := newToken(t)
					r := start(t, h, []string{token}, "bomb", leashOf(token), leashOf(token)+".lock")
					if got := r.line(t); got != "full" {
						t.Fatal(got)
					}
					rep, err := r.Kill(t.Context())
					if err != nil || rep.Proof != proofs[m] {
						t.Errorf("%+v %v", rep, err)
					}
					t.Logf("ended in %v", rep.Took)
					gone(t, token)
				})
			}
		})
	}
}
