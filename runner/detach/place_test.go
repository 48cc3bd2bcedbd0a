package detach

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

func jobID(n int) string { return fmt.Sprintf("%08d-1111-4111-8111-111111111111", n) }

// lay makes the folder of an ended job with a transcript of so many bytes.
func lay(t *testing.T, state, scope string, n, size int, at time.Time) string {
	t.Helper()
	dir := filepath.Join(state, "detached", scope, jobID(n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"journal.000001": make([]byte, size), lockName: nil} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(state string) *Place { return Open(state, nil, "scope", Starter{}) }

func TestOneOwner(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	a, b := open(state), open(state)
	if got := a.Adopt(""); got != nil {
		t.Errorf("%v", got)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Error("who looks makes the directory")
	}
	for n := range 3 {
		lay(t, state, "scope", n, 10, time.Now())
	}
	if err := os.Remove(filepath.Join(state, "detached", "scope", jobID(2), "journal.000001")); err != nil {
		t.Fatal(err) // its supervisor is just starting
	}
	if err := os.Chmod(filepath.Join(state, "detached", "scope"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := a.Adopt(jobID(1)); len(got) != 1 || got[0].ID() != jobID(1) {
		t.Fatalf("%v", got)
	}
	if got := b.Adopt(jobID(1)); got != nil {
		t.Errorf("the other has it too: %v", got)
	}
	if got := b.Adopt(""); len(got) != 1 || got[0].ID() != jobID(0) {
		t.Errorf("%v", got)
	}
	if got := append(a.Adopt(""), b.Adopt("")...); got != nil {
		t.Errorf("adopted twice: %v", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.Adopt(""); len(got) != 1 || got[0].ID() != jobID(1) {
		t.Errorf("after the first has gone: %v", got)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// Any number of servers at once: each job has one owner.
func TestOwnersAtOnce(t *testing.T) {
	state := t.TempDir()
	const jobs, servers = 20, 8
	for n := range jobs {
		lay(t, state, "scope", n, 10, time.Now())
	}
	if err := os.Chmod(filepath.Join(state, "detached", "scope"), 0o700); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	got := make([][]string, servers)
	places := make([]*Place, servers)
	for i := range servers {
		places[i] = open(state)
		wait.Go(func() {
			for _, o := range places[i].Adopt("") {
				got[i] = append(got[i], o.ID())
			}
		})
	}
	wait.Wait()
	all := slices.Concat(got...)
	slices.Sort(all)
	if len(all) != jobs || len(slices.Compact(all)) != jobs {
		t.Errorf("%d adopted: %v", len(all), got)
	}
	for _, p := range places {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server that comes is not taken for one that has gone, whoever clears away.
func TestComingAndGoing(t *testing.T) {
	state := t.TempDir()
	lay(t, state, "scope", 0, 10, time.Now())
	if err := os.Chmod(filepath.Join(state, "detached", "scope"), 0o700); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 100 {
				p := open(state)
				p.mu.Lock()
				err := p.enterLocked()
				p.mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				p.clearOwners()
				if !p.lock.AtPath(p.ownerPath(p.owner)) {
					t.Error("the lock of a living server was removed")
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if names, _ := os.ReadDir(filepath.Join(state, "detached", "scope", ownersDir)); len(names) != 0 {
		t.Errorf("%d are left", len(names))
	}
}

func left(t *testing.T, dirs ...string) (there []int) {
	t.Helper()
	for i, d := range dirs {
		if _, err := os.Stat(d); err == nil {
			there = append(there, i)
		}
	}
	return there
}

func TestPrune(t *testing.T) {
	state := t.TempDir()
	now := time.Now()
	hours := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Hour) }
	dirs := []string{
		lay(t, state, "a", 0, 100, hours(1)),
		lay(t, state, "b", 1, 100, hours(2)),
		lay(t, state, "a", 2, 100, hours(3)),  // over the bytes
		lay(t, state, "b", 3, 100, hours(30)), // too old, and over
		lay(t, state, "b", 4, 100, hours(40)), // its supervisor lives
		lay(t, state, "a", 5, 100, hours(50)), // somebody has it
		lay(t, state, "a", 6, 100, hours(1)),  // a start that failed
		lay(t, state, "a", 7, 100, now),       // one that goes on
	}
	for _, n := range []int{6, 7} {
		if err := os.Remove(filepath.Join(dirs[n], "journal.000001")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dirs[4], lockName)); err != nil {
		t.Fatal(err)
	}
	lock, err := sys.CreateLock(filepath.Join(dirs[4], lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for _, scope := range []string{"a", "b"} {
		if err := os.Chmod(filepath.Join(state, "detached", scope), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(state, nil, "a", Starter{})
	if got := p.Adopt(jobID(5)); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	defer p.Close()
	done, err := prune(state, now, 24*time.Hour, 250)
	if err != nil || done.Jobs != 3 || done.Bytes != 200 {
		t.Errorf("%+v %v", done, err)
	}
	if got := left(t, dirs...); !slices.Equal(got, []int{0, 1, 4, 5, 7}) {
		t.Errorf("left: %v", got)
	}
	if done, err := prune(state, now, 24*time.Hour, 250); err != nil || done.Jobs != 0 {
		t.Errorf("again: %+v %v", done, err)
	}
	if done, err := Prune(filepath.Join(state, "nowhere")); err != nil || done.Jobs != 0 {
		t.Errorf("nowhere: %+v %v", done, err)
	}
}

// Only one of the two that may decide about a start does.
func TestVerdict(t *testing.T) {
	for range 50 {
		dir := t.TempDir()
		results := make(chan bool, 2)
		go func() { results <- giveUp(dir) }()
		go func() { results <- decide(dir) == nil }()
		if a, b := <-results, <-results; a == b {
			t.Fatalf("both, or neither: %v", a)
		}
	}
}

// A start that cannot be made says why, and leaves nothing.
func TestLaunchFails(t *testing.T) {
	state := t.TempDir()
	p := Open(state, nil, "scope", Starter{Path: filepath.Join(state, "no such program")})
	defer p.Close()
	if _, err := p.Detach(t.Context(), job.Order{ID: jobID(1), AllowWeaker: true}); err == nil {
		t.Error("it was started")
	}
	names, err := os.ReadDir(filepath.Join(state, "detached", "scope"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range names {
		if d.Name() == jobID(1) {
			t.Error("its folder stays")
		}
	}
}

// A server that enters while another clears away what the dead have left is an
// owner, and so is a supervisor at whose lock somebody looks.
func TestEnterWhileCleared(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	other := open(state)
	if err := other.enterLocked(); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	job := t.TempDir()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				other.clearOwners()
				isLocked(filepath.Join(job, lockName))
			}
		}
	}()
	for range 300 {
		p := open(state)
		if err := p.enterLocked(); err != nil {
			t.Fatal(err)
		}
		if !isLocked(p.ownerPath(p.owner)) {
			t.Fatal("it lives, and nobody can tell")
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := lockFor(job)
		if err != nil {
			t.Fatal(err)
		}
		if !isLocked(filepath.Join(job, lockName)) {
			t.Fatal("the supervisor lives, and nobody can tell")
		}
		if err := os.Remove(filepath.Join(job, lockName)); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	close(stop)
	<-done
}

// A job is adopted also where no new file can be made in its folder.
func TestAdoptOnFullDisk(t *testing.T) {
	state := t.TempDir()
	dir := lay(t, state, "scope", 1, 10, time.Now())
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	first, next := open(state), open(state)
	if got := first.Adopt(""); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ownerName+".tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ownerName+".tmp", "x"), nil, 0o600); err != nil {
		t.Fatal(err) // so that it cannot be cleared away
	}
	if got := next.Adopt(""); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	defer next.Close()
	if got := first.Adopt(""); got != nil {
		t.Errorf("the other has it too: %v", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
}
