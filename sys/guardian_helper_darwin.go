package sys

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

// The guardian's descriptors.
const (
	guardControl = 3 // pipe whose other end the supervisor alone holds
	guardStatus  = 4 // pipe on which "armed" is told; its end tells our death
)

// armed is the byte that the guardian writes once it can act.
const armed = 'A'

// order is one line of the supervisor's to the guardian.
type order struct {
	add   bool
	pgid  int
	start uint64 // of the group's leader
}

func (o order) String() string {
	verb := '-'
	if o.add {
		verb = '+'
	}
	return fmt.Sprintf("%c %d %d\n", verb, o.pgid, o.start)
}

func parseOrder(line string) (order, error) {
	var o order
	var verb rune
	if _, err := fmt.Sscanf(strings.TrimSuffix(line, "\n"), "%c %d %d", &verb, &o.pgid, &o.start); err != nil {
		return order{}, fmt.Errorf("order %.40q: %w", line, err)
	}
	// Group 1 and 0 are never a job's, and 0 would be our own.
	if (verb != '+' && verb != '-') || o.pgid <= 1 {
		return order{}, fmt.Errorf("order %.40q: is none", line)
	}
	o.add = verb == '+'
	return o, nil
}

// startGuardianDetached starts the guardian and ends, so that the guardian is
// no descendant of the supervisor: a host that ends its server by walking
// parent numbers does not meet it.
func startGuardianDetached(args []string) int {
	_, err := syscall.ForkExec(args[0], append([]string{helperName, roleGuardian}, args...), &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(),
		Files: []uintptr{0, 1, 2, guardControl, guardStatus},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 1
	}
	return 0
}

// guard waits for the supervisor's end, however it comes, and then ends the
// groups it was told. It waits for the end of the pipe or of the process, so
// that a copy of the pipe in a stranger's hands cannot blind it.
func guard(pid int, start uint64) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = darwin.SealFrom(guardControl)
	w, err := darwin.NewWatcher()
	if err != nil {
		return 1
	}
	gone := make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(gone) }) }
	ended, err := w.Exit(pid, func(darwin.ExitNote) { end() })
	if err != nil {
		return 1
	}
	if k, err := darwin.ReadKinfo(pid); ended || err != nil || k.Start != start {
		end()
	}
	if err := syscall.SetNonblock(guardControl, true); err != nil {
		return 1
	}
	control := os.NewFile(guardControl, "orders")
	groups := make(map[int]uint64)
	told := make(chan struct{}) // closed when no more orders come; groups is ours then
	go func() {
		defer close(told)
		for lines := bufio.NewScanner(control); lines.Scan(); {
			switch o, err := parseOrder(lines.Text()); {
			case err != nil:
			case o.add:
				groups[o.pgid] = o.start
			case groups[o.pgid] == o.start:
				delete(groups, o.pgid)
			}
		}
	}()
	if _, err := syscall.Write(guardStatus, []byte{armed}); err != nil {
		return 1
	}
	select {
	case <-told:
	case <-gone:
		// What it wrote before its death is in the pipe. Usually the end follows
		// at once; a stranger that holds a copy must not keep us.
		if control.SetReadDeadline(time.Now().Add(200*time.Millisecond)) == nil {
			<-told
		}
	}
	for pgid, start := range groups {
		endGroup(w, pgid, start)
	}
	return 0
}

// endGroup kills a group until nobody is left in it. After the supervisor's
// death launchd reaps leaders that have ended, so the number may come to mean
// another group: each member's start is compared before each signal.
func endGroup(w *darwin.Watcher, pgid int, start uint64) {
	bell := make(chan struct{}, 1)
	ring := func(darwin.ExitNote) {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		list, err := darwin.ReadGroup(pgid)
		if err != nil {
			return
		}
		live := liveMembers(list, pgid, start)
		if len(live) == 0 {
			return
		}
		// Best effort: repeated until empty.
		_ = darwin.KillGroup(pgid, syscall.SIGKILL)
		if gone, err := w.Exit(live[0], ring); gone || err != nil {
			ring(darwin.ExitNote{})
		}
		timer := time.NewTimer(pause)
		select {
		case <-bell:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// liveMembers lists who lives in the group of the leader that started then;
// nobody when the number means another group by now, which shows in a leader
// that is not the same or in a member that is older than the leader.
func liveMembers(list []darwin.Kinfo, pgid int, start uint64) []int {
	var live []int
	for _, k := range list {
		if k.Start < start || k.PID == pgid && k.Start != start {
			return nil
		}
		if k.State != darwin.Zombie {
			live = append(live, k.PID)
		}
	}
	return live
}
