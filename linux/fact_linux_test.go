package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFact: what passes is no answer, what does not is one, and an answer is asked
// for once, however many want it.
func TestFact(t *testing.T) {
	told := []error{
		unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR, unix.EAGAIN, unix.EIO,
		&os.PathError{Op: "open", Path: "/proc/x", Err: unix.EMFILE},
	}
	asked := 0
	f := fact[int]{ask: func() (int, error) {
		asked++
		if asked <= len(told) {
			return settled(-1, told[asked-1])
		}
		return settled(asked, nil)
	}}
	for i, why := range told {
		if v, err := f.find(); v != -1 || err != why || asked != i+1 {
			t.Errorf("%v: %d %v after %d questions", why, v, err, asked)
		}
	}
	want := len(told) + 1
	for range 2 {
		if v := f.get(); v != want || asked != want {
			t.Errorf("%d after %d questions, want %d after as many", v, asked, want)
		}
	}
}

func TestFactRefused(t *testing.T) {
	for _, why := range []error{
		unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP, unix.EPERM, unix.EACCES, errors.ErrUnsupported,
		&os.PathError{Op: "open", Path: "/proc/x", Err: unix.ENOENT}, // /proc itself is there
		fmt.Errorf("read: %w", unix.EPERM),
	} {
		asked := 0
		f := fact[bool]{ask: func() (bool, error) { asked++; return settled(false, why) }}
		for range 2 {
			if yes, err := f.find(); yes || err != nil || asked != 1 {
				t.Errorf("%v: %v %v after %d questions", why, yes, err, asked)
			}
		}
	}
}

func TestFactAskedOnce(t *testing.T) {
	var asked atomic.Int32
	f := fact[int32]{ask: func() (int32, error) { return asked.Add(1), nil }}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if v := f.get(); v != 1 {
				t.Errorf("answer %d", v)
			}
		})
	}
	all.Wait()
}

// TestFactsAfterShortage: what nobody could be asked for without a descriptor is known
// once there are some. It is tried in a process of its own, whose other files nobody
// needs.
func TestFactsAfterShortage(t *testing.T) {
	const alone = "FACTS_AFTER_SHORTAGE"
	if os.Getenv(alone) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), alone+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var had unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &had); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Max: had.Max}, nil); err != nil {
		t.Fatal(err)
	}
	later := []func(){
		learn(t, "pidfs", &hasPidfs),
		learn(t, "groups by pidfd", &hasPidfdGroups),
		learn(t, "lists of children", &hasChildren),
		learn(t, "counts of storage", &countsIO),
		learn(t, "boot", &bootID),
		learn(t, "largest number", &maxPID),
		learn(t, "mounts", &knownMounts),
	}
	if _, ok := LastPID(); ok {
		t.Error("the last number was read without a descriptor")
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &had, nil); err != nil {
		t.Fatal(err)
	}
	for _, known := range later {
		known()
	}
	if _, ok := LastPID(); !ok {
		t.Error("the last number is not known once there are descriptors")
	}
	if one, other := loadavg.get(), loadavg.get(); one != other {
		t.Errorf("loadavg is descriptor %d, then %d", one, other)
	}
}

// learn wants a fact not to be known now, and to be known once known is called.
func learn[T any](t *testing.T, name string, f *fact[T]) (known func()) {
	t.Helper()
	if v, err := f.find(); err == nil {
		t.Errorf("%s without a descriptor: %v", name, v)
	}
	return func() {
		t.Helper()
		want, err := f.ask()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v, err := f.find(); err != nil || !reflect.DeepEqual(v, want) {
			t.Errorf("%s: %v, %v; the kernel says %v", name, v, err, want)
		}
	}
}
