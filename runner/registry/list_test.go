package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

// health is what the list says of each run id, in its order.
func health(t *testing.T, r *Registry) string {
	t.Helper()
	l, err := r.List()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range l.Entries {
		b.WriteString(e.RunID + ":" + string(e.Health) + " ")
	}
	return strings.TrimSpace(b.String())
}

// plant puts a record's file there by hand, beside a lock that nobody holds.
func plant(t *testing.T, r *Registry, stem, data string) (record, lock string) {
	t.Helper()
	record, lock = r.path(stem+recordSuffix), r.path(stem+lockSuffix)
	for path, data := range map[string]string{record: data, lock: ""} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return record, lock
}

// encoded is a record's file.
func encoded(t *testing.T, id, stem string) string {
	t.Helper()
	data, err := Record{RunID: id, StartedAt: time.Now()}.encode(stem + lockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestListAbsent(t *testing.T) {
	r := Open(filepath.Join(t.TempDir(), "none", "runs"))
	if l, err := r.List(); err != nil || len(l.Entries) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := r.Prune(PruneOptions{}); err != nil {
		t.Error(err)
	}
	if e, err := r.Ended("a"); err != nil || len(e) != 0 {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := os.Lstat(filepath.Dir(r.Dir())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader made the registry: %v", err)
	}
}

func TestLiveStaleEnded(t *testing.T) {
	r := fresh(t)
	a := start(t, r, "a", "")
	b := start(t, r, "b", "")
	if got := health(t, r); got != "a:live b:live" {
		t.Errorf("two live runs: %s", got)
	}
	a.kill(t)
	if got := health(t, r); got != "a:stale b:live" {
		t.Errorf("after a was killed: %s", got)
	}
	b.end(t)
	if got := health(t, r); got != "a:stale" {
		t.Errorf("after b ended: %s", got)
	}
	if e, err := r.Find("a"); !errors.Is(err, ErrStale) || e.RunID != "a" {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := r.Find("b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestAmbiguous(t *testing.T) {
	r := fresh(t)
	first := publish(t, r, Record{RunID: "twin"})
	second := publish(t, r, Record{RunID: "twin"})
	if _, err := r.Find("twin"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("%v", err)
	}
	if err := second.Remove(Outcome{}); err != nil {
		t.Error(err)
	}
	if e, err := r.Find("twin"); err != nil || e.Path != first.Path() {
		t.Errorf("%+v %v", e, err)
	}
	if err := first.Remove(Outcome{}); err != nil {
		t.Error(err)
	}
	if e, err := r.Ended("twin"); err != nil || len(e) != 2 || e[0].EndedAt.Before(e[1].EndedAt) {
		t.Errorf("%+v %v", e, err)
	}
}

// A live run beside a dead one of the same id is the one that is meant.
func TestLiveBesideStale(t *testing.T) {
	r := fresh(t)
	start(t, r, "a", "").kill(t)
	p := publish(t, r, Record{RunID: "a"})
	if e, err := r.Find("a"); err != nil || e.Path != p.Path() {
		t.Errorf("%+v %v", e, err)
	}
	if err := p.Remove(Outcome{}); err != nil {
		t.Error(err)
	}
}

// A lock that is a link or a directory cannot be asked; one that is missing
// beside its record belongs to nobody.
func TestUnprobed(t *testing.T) {
	systest.SkipUnderWine(t, "symbolic links lead nowhere")
	r := fresh(t)
	_, lock := plant(t, r, "run-1", encoded(t, "link", "run-1"))
	if err := os.Rename(lock, lock+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lock+".real", lock); err != nil {
		t.Skip(err)
	}
	_, lock = plant(t, r, "run-2", encoded(t, "folder", "run-2"))
	if err := errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, lock = plant(t, r, "run-3", encoded(t, "missing", "run-3"))
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if got := health(t, r); got != "folder:unprobed link:unprobed missing:stale" {
		t.Errorf("%s", got)
	}
	if _, err := r.Find("link"); !errors.Is(err, ErrUnprobed) {
		t.Errorf("%v", err)
	}
	p, err := r.Prune(PruneOptions{})
	if err != nil || p.Pruned != 1 || p.Unprobed != 2 {
		t.Errorf("%+v %v", p, err)
	}
	if got := health(t, r); got != "folder:unprobed link:unprobed" {
		t.Errorf("after prune: %s", got)
	}
}

// A record that is a link is not followed: nobody knows what it is.
func TestUnreadable(t *testing.T) {
	systest.SkipUnderWine(t, "symbolic links lead nowhere")
	r := fresh(t)
	if err := os.Symlink("/dev/zero", r.path("run-1.json")); err != nil {
		t.Skip(err)
	}
	l, err := r.List()
	if err != nil || l.Unreadable != 1 || len(l.Entries) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := r.Find("a"); !errors.Is(err, ErrUnprobed) {
		t.Errorf("it may be the one: %v", err)
	}
	if p, err := r.Prune(PruneOptions{}); err != nil || p.Unprobed != 1 || p.Pruned != 0 {
		t.Errorf("%+v %v", p, err)
	}
}

func TestParseRecord(t *testing.T) {
	good := encoded(t, "a", "run-1")
	if _, _, err := parseRecord([]byte(good)); err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatalf("%s is not in %s", from, good)
		}
		return strings.Replace(good, from, to, 1)
	}
	for _, data := range []string{
		"", "null", "[]", good[:len(good)/2], good + "{}",
		change(`"registry_version":1`, `"registry_version":99`),
		change(`"run_id":"a"`, `"run_id":null`),
		change(`"run_id":"a"`, `"run_id":7`),
		change(`advisory_lock`, `pid`),
		change(`run-1.lock`, `../x.lock`),
		change(`run-1.lock`, `/x.lock`),
		change(`run-1.lock`, `a\\b.lock`),
		change(`run-1.lock`, `c:x.lock`),
		change(`run-1.lock`, `NUL.lock`),
		change(`run-1.lock`, `com1.x.lock`),
		change(`run-1.lock`, `.lock`),
		change(`run-1.lock`, `..lock`),
		change(`run-1.lock`, "a\\u0000.lock"),
		change(`run-1.lock`, `run-1.json`),
		strings.Replace(good, `"started_at":"`, `"started_at":"1`, 1),
	} {
		if rec, lock, err := parseRecord([]byte(data)); err == nil {
			t.Errorf("%.200s gives %+v, %s", data, rec, lock)
		}
	}
	for _, at := range []string{"2026-02-30T00:00:00.000Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+00:00", "2026-01-02T03:04:05.6789Z"} {
		if _, err := ParseTime(at); err == nil {
			t.Errorf("%s is taken for a time", at)
		}
	}
	odd := change(`"argv_sha256":null`, `"argv_sha256":"XYZ"`)
	odd = strings.Replace(odd, `"hint":null`, `"hint":"else","more":[1]`, 1)
	odd = strings.Replace(odd, `"labels":{}`, `"labels":{"k":"v","bad key":"v","n":1,"x":"\u202e"}`, 1)
	rec, _, err := parseRecord([]byte(odd))
	if err != nil || rec.ArgvSHA256 != "" || rec.Hint != "" || len(rec.Labels) != 1 || rec.Labels["k"] != "v" {
		t.Errorf("%+v %v", rec, err)
	}
}

func FuzzParseRecord(f *testing.F) {
	r := Record{RunID: "a", StartedAt: time.UnixMilli(1_700_000_000_123), Labels: map[string]string{"k": "v"}, JSONL: "/e", Hint: "msbuild_node_reuse"}
	data, err := r.encode("run-1.lock")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"registry_version":1,"run_id":"a","liveness":{"kind":"advisory_lock","lock_file":"../x.lock"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, lock, err := parseRecord(data)
		if err != nil {
			return
		}
		if filepath.Base(lock) != lock || !strings.HasSuffix(lock, lockSuffix) {
			t.Fatalf("lock %q", lock)
		}
		again, err := rec.encode(lock)
		if errors.Is(err, ErrTooLong) {
			return // escapes may make it longer
		}
		if err != nil {
			t.Fatal(err)
		}
		if back, l, err := parseRecord(again); err != nil || l != lock || back.RunID != rec.RunID || !back.StartedAt.Equal(rec.StartedAt) {
			t.Fatalf("%+v %q %v", back, l, err)
		}
	})
}

func TestDir(t *testing.T) {
	get := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	abs := t.TempDir()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"BELFRY_REGISTRY_DIR": abs, "BELFRY_RUNTIME_DIR": "/x"}, abs},
		{map[string]string{"BELFRY_RUNTIME_DIR": abs, "XDG_RUNTIME_DIR": "/x"}, filepath.Join(abs, "runs")},
		{map[string]string{"BELFRY_RUNTIME_DIR": "relative"}, ""},
		{map[string]string{}, ""},
	} {
		got, err := Dir(get(c.env))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q %v", c.env, got, err)
		}
	}
	if got, err := Dir(get(map[string]string{"BELFRY_REGISTRY_DIR": "rel"})); err != nil || !filepath.IsAbs(got) {
		t.Errorf("%q %v", got, err)
	}
}
