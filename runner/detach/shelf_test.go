package detach

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/sys"
)

// What has ended and nobody has can be seen and read by any number at once; it is
// not adopted by that, and neither is what somebody has or what goes on.
func TestShelf(t *testing.T) {
	state := t.TempDir()
	place := filepath.Join(state, "detached", "scope")
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	code := 3
	for n := range 5 {
		dir := filepath.Join(place, jobID(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		x := newWriter(t, dir, 1<<20)
		x.say(job.Stdout, "one\n")
		x.w.Record(job.Snapshot{ID: jobID(n), State: job.Running})
		if n > 0 { // the supervisor of 0 was killed
			x.say(job.Stderr, "two\n")
			x.w.Record(job.Snapshot{ID: jobID(n), State: job.Exited, EndedBy: job.ByExit, ExitCode: &code, Ended: time.Now()})
			if err := x.w.end(); err != nil {
				t.Fatal(err)
			}
		}
	}
	lock, err := sys.CreateLock(filepath.Join(place, jobID(4), lockName)) // its supervisor lives
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(place, jobID(3), "journal.000002"), []byte("nothing like one"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(place, jobID(5)) // a copy under another name
	if err := os.CopyFS(other, os.DirFS(filepath.Join(place, jobID(1)))); err != nil {
		t.Fatal(err)
	}
	s, owner := Shelf{State: state}, open(state)
	want := map[string]string{jobID(0): "failed", jobID(1): "exited", jobID(2): "exited"}
	for range 2 {
		got := map[string]string{}
		for _, j := range s.Jobs() {
			got[j.ID] = j.State
		}
		if len(got) != len(want) || got[jobID(0)] != want[jobID(0)] || got[jobID(1)] != want[jobID(1)] || got[jobID(2)] != want[jobID(2)] {
			t.Errorf("%v, want %v", got, want)
		}
	}
	var said []string
	j, err := s.Logs(t.Context(), control.LogsQuery{ID: jobID(1), Follow: true}, func(x control.Said) error {
		said = append(said, x.Stream+" "+x.Text)
		return nil
	})
	if err != nil || j.ExitCode == nil || *j.ExitCode != code || !slices.Equal(said, []string{"stdout one", "stderr two"}) {
		t.Errorf("%+v %v %v", j, err, said)
	}
	if j, err := s.Stop(t.Context(), control.StopOrder{ID: jobID(2)}, func() error { return nil }); err != nil || j.State != "exited" {
		t.Errorf("%+v %v", j, err)
	}
	for _, id := range []string{jobID(3), jobID(4), jobID(5), jobID(9), "", "..", ownersDir} {
		if _, err := s.Logs(t.Context(), control.LogsQuery{ID: id}, func(control.Said) error { return nil }); err != control.ErrNoJob {
			t.Errorf("logs of %q: %v", id, err)
		}
	}
	for _, n := range []int{0, 1, 2, 4, 9} {
		if err := s.Unread(jobID(n)); err != nil {
			t.Errorf("%d can be read, lives or is none: %v", n, err)
		}
	}
	for n, file := range map[int]string{3: "journal.000002", 5: "journal.000002"} {
		for _, id := range []string{jobID(n), jobID(n)[:9]} {
			if err := s.Unread(id); !errors.Is(err, errFrame) || !strings.Contains(err.Error(), filepath.Join(place, jobID(n), file)) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(place, jobID(3), "journal.000003"), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Unread(jobID(3)); !errors.Is(err, errFrame) || !strings.Contains(err.Error(), "journal.000003: ") {
		t.Errorf("%v", err)
	}
	if got := owner.Adopt(jobID(1)); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	defer owner.Close()
	if got := s.Jobs(); len(got) != 2 {
		t.Errorf("after one was adopted: %+v", got)
	}
}
