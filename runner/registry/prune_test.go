package registry

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestPrune(t *testing.T) {
	r := fresh(t)
	start(t, r, "dead", "endpoint").kill(t)
	live := publish(t, r, Record{RunID: "live", Labels: map[string]string{"k": "v"}})
	l, err := r.List()
	if err != nil || len(l.Entries) != 2 {
		t.Fatalf("%+v %v", l, err)
	}
	dir := sys.TempEndpointDir(l.Entries[0].Endpoint)

	p, err := r.Prune(PruneOptions{DryRun: true})
	if err != nil || p.Pruned != 1 || p.Live != 1 || len(p.Entries) != 1 || p.Entries[0].RunID != "dead" {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := r.Prune(PruneOptions{Labels: map[string]string{"k": "v"}}); err != nil || p.Pruned != 0 || p.Live != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if got := files(t, r); len(got) != 4 {
		t.Errorf("removed by looking: %v", got)
	}
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	p, err = r.Prune(PruneOptions{})
	if err != nil || p.Pruned != 1 || p.Live != 1 || p.OrphanedLocks != 0 {
		t.Errorf("%+v %v", p, err)
	}
	if got := health(t, r); got != "live:live" {
		t.Errorf("%s", got)
	}
	if dir != "" {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := live.Remove(Outcome{}); err != nil {
		t.Error(err)
	}
	if got := files(t, r); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A record names its endpoint as it likes: only what has the shape of one of
// ours is touched.
func TestPruneForeignEndpoint(t *testing.T) {
	r := fresh(t)
	dir := t.TempDir()
	foreign := filepath.Join(dir, "c.sock")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := Record{RunID: "a", StartedAt: time.Now(), Endpoint: foreign}.encode("run-1.lock")
	if err != nil {
		t.Fatal(err)
	}
	plant(t, r, "run-1", string(data))
	if p, err := r.Prune(PruneOptions{}); err != nil || p.Pruned != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// What is no record is no run: it is not listed, and neither it nor what it
// points at is removed.
func TestBrokenRecords(t *testing.T) {
	r := fresh(t)
	good := encoded(t, "a", "run-1")
	target := filepath.Join(filepath.Dir(r.Dir()), "x.lock")
	if err := os.WriteFile(target, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(" ", MaxRecord+1-len(good)) + good
	if _, _, err := parseRecord([]byte(long[1:])); err != nil || len(long) != MaxRecord+1 {
		t.Fatalf("a record of %d bytes would be one: %v", len(long)-1, err)
	}
	broken := map[string]string{
		"run-outside": strings.Replace(good, "run-1.lock", "../x.lock", 1),
		"run-newer":   strings.Replace(good, `"registry_version":1`, `"registry_version":99`, 1),
		"run-long":    long,
		"run-half":    good[:len(good)/2],
	}
	old := time.Now().Add(-time.Hour)
	for stem, data := range broken {
		record, lock := plant(t, r, stem, data)
		for _, path := range []string{record, lock, target} {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	plant(t, r, "run-1", good)
	l, err := r.List()
	if err != nil || len(l.Entries) != 1 || l.Entries[0].RunID != "a" || l.Unreadable != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if p, err := r.Prune(PruneOptions{}); err != nil || p.Pruned != 1 || p.OrphanedLocks != 0 {
		t.Errorf("%+v %v", p, err)
	}
	for stem, data := range broken {
		if held, err := os.ReadFile(r.path(stem + recordSuffix)); err != nil || string(held) != data {
			t.Errorf("%s: %.40q %v", stem, held, err)
		}
	}
	if held, err := os.ReadFile(target); err != nil || string(held) != "not ours" {
		t.Errorf("%q %v", held, err)
	}
	if got := files(t, r); len(got) != 2*len(broken) {
		t.Errorf("left: %v", got)
	}
}

func TestPruneOrphans(t *testing.T) {
	r := fresh(t)
	old := time.Now().Add(-time.Minute)
	put := func(name string, age time.Time) {
		t.Helper()
		if err := os.WriteFile(r.path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(r.path(name), age, age); err != nil {
			t.Fatal(err)
		}
	}
	put("run-young.lock", time.Now())
	put("run-old.lock", old)
	put("run-old.json.tmp", old) // its runner was killed before the record had its name
	put("run-newer.lock", old)
	put("run-newer.json", old) // of a version that is not known
	held, err := sys.CreateLock(r.path("run-held.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Chtimes(r.path("run-held.lock"), old, old); err != nil {
		t.Fatal(err)
	}
	p, err := r.Prune(PruneOptions{DryRun: true})
	if err != nil || p.OrphanedLocks != 1 || len(p.Locks) != 1 || p.Locks[0] != "run-old.lock" {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := r.Prune(PruneOptions{Labels: map[string]string{"a": "b"}}); err != nil || p.OrphanedLocks != 0 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := r.Prune(PruneOptions{}); err != nil || p.OrphanedLocks != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if got := files(t, r); len(got) != 4 {
		t.Errorf("left: %v", got)
	}
}

// Those that prune at once miss no dead run, and count each once.
func TestPruneTogether(t *testing.T) {
	r := fresh(t)
	const dead = 50
	for i := range dead {
		stem := "run-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		plant(t, r, stem, encoded(t, stem, stem))
	}
	var all sync.WaitGroup
	counts := make([]int, 4)
	for i := range counts {
		all.Go(func() {
			p, err := r.Prune(PruneOptions{})
			if err != nil {
				t.Error(err)
			}
			counts[i] = p.Pruned
		})
	}
	all.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	// On Windows a file may be removed by two at once.
	if sum < dead || sum > dead && runtime.GOOS != "windows" {
		t.Errorf("%v: %d in all", counts, sum)
	}
	if got := files(t, r); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestTombstonesGo(t *testing.T) {
	r := fresh(t)
	if err := publish(t, r, Record{RunID: "a"}).Remove(Outcome{Code: 3, Source: "child_exit"}); err != nil {
		t.Fatal(err)
	}
	ended := filepath.Join(r.Dir(), endedDir)
	r.clearEnded(time.Now().Add(TombstoneLife - time.Second))
	if e, err := r.Ended("a"); err != nil || len(e) != 1 || e[0].Code != 3 {
		t.Errorf("within its time: %+v %v", e, err)
	}
	r.clearEnded(time.Now().Add(TombstoneLife + 2*time.Minute))
	if _, err := os.Stat(ended); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its time: %v", err)
	}
	// One that is there and too old is not told of.
	old, err := marshal(wireTombstone{Version: 1, RunID: "b", EndedAt: FormatTime(time.Now().Add(-TombstoneLife - time.Second))})
	if err != nil {
		t.Fatal(err)
	}
	bucket := filepath.Join(ended, bucketOf(time.Now()))
	if err := errors.Join(os.MkdirAll(bucket, 0o700), os.WriteFile(filepath.Join(bucket, idPrefix("b")+"x.json"), old, 0o600)); err != nil {
		t.Fatal(err)
	}
	if e, err := r.Ended("b"); err != nil || len(e) != 0 {
		t.Errorf("%+v %v", e, err)
	}
}
