package sys_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// TestSweepEndsOrphans: nobody was left to end the tree, and the next start
// leaves nothing of it.
func TestSweepEndsOrphans(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	for range rounds(t, 50) {
		group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
		cmd, guardian := recorded(t, group, records, token)
		killBoth(t, cmd, guardian)
		if len(survivors(token)) == 0 {
			t.Error("there is nothing to sweep")
		}
		dead := files(t, records)
		if len(dead) != 1 {
			t.Fatalf("records: %v", dead)
		}
		h := sweeping(t, records)
		h.Prepare() // as a starting server does
		gone(t, token)
		for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(dead[0]); os.IsNotExist(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is left", dead[0])
			}
		}
	}
}

// TestSweepTells: what is told of each record is what was done.
func TestSweepTells(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
	cmd, guardian := recorded(t, group, records, token)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptLive || !strings.HasPrefix(got[0].Container, group) {
		t.Errorf("of a live one: %+v", got)
	}
	if len(survivors(token)) == 0 {
		t.Fatal("the live one's tree was ended")
	}
	killBoth(t, cmd, guardian)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptEnded || got[0].Ended == 0 {
		t.Errorf("of a dead one: %+v", got)
	}
	gone(t, token)
	if got := sweepAll(t, records); len(got) != 0 {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestSweepFromAnotherNamespace: the number of a supervisor in another pid
// namespace means somebody else here, or nobody. Its lock means the same.
func TestSweepFromAnotherNamespace(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("no pid namespace can be made here: %v", err)
	}
	group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
	cmd, _ := recordedBy(t, []string{unshare, "--pid", "--fork", "--mount-proc", "--kill-child"}, group, records, token)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptLive {
		t.Errorf("of a live one: %+v", got)
	}
	if len(survivors(token)) == 0 {
		t.Error("the live one's tree was ended")
	}
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "everything is swept", func() bool { sweepAll(t, records); return len(files(t, records)) == 0 })
	gone(t, token)
}

// TestSweepAtOnce: of many sweeps at once each record is dealt with by one.
func TestSweepAtOnce(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	const dead = 4
	var tokens []string
	for range dead {
		tokens = append(tokens, newToken(t))
		cmd, guardian := recorded(t, group, records, tokens[len(tokens)-1])
		killBoth(t, cmd, guardian)
	}
	var mu sync.Mutex
	outcomes := map[sys.SweepOutcome]int{}
	var all sync.WaitGroup
	for range 4 {
		h := sweeping(t, records)
		all.Go(func() {
			got, err := h.Sweep(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range got {
				outcomes[r.Outcome]++
			}
		})
	}
	all.Wait()
	if outcomes[sys.SweptEnded] != dead || len(outcomes) != 1 {
		t.Errorf("outcomes %v, want %d ended", outcomes, dead)
	}
	for _, token := range tokens {
		gone(t, token)
	}
}

// TestSweepTouchesNothingElse: what is not certainly a dead host's container is
// left alone, and the reason is told.
func TestSweepTouchesNothingElse(t *testing.T) {
	group := groupFor(t)
	at := func(name string) string { return filepath.Join(group, name) }
	record := func(container, boot string, made bool) string {
		text, err := sys.RecordText(container, boot, made)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	here := at("belfry-0123456789abcdef")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(here)
	plain := filepath.Join(t.TempDir(), "belfry-0123456789abcdef")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		outcome    sys.SweepOutcome
		detail     string
	}{
		{"nothing noted", "", sys.SweptStale, ""},
		{"torn", `{"version":1`, sys.SweptStale, ""},
		{"an earlier boot", record(here, "another boot", false), sys.SweptStale, ""},
		{"its directory is gone", record(filepath.Dir(group)+"/belfry-0123456789abcdef", "", false), sys.SweptStale, ""},
		{"another name", record(here+"0", "", false), sys.SweptUnknown, "no container of this record"},
		{"no JSON", "hello\n", sys.SweptUnknown, "no JSON"},
		{"another version", `{"version":99,"boot":"b","pid":1,"container":"/c"}` + "\n", sys.SweptUnknown, "version 99"},
		{"another inode", record(here, "", true), sys.SweptUnknown, "not the directory that was noted"},
		{"no control group", record(plain, "", false), sys.SweptUnknown, "no control group"},
		{"a group that is nobody's container", record(group, "", false), sys.SweptUnknown, "no container of this record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := t.TempDir()
			path := filepath.Join(records, "belfry-0123456789abcdef.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := sweepAll(t, records)
			if len(got) != 1 || got[0].Outcome != c.outcome || !strings.Contains(got[0].Detail, c.detail) || (c.detail == "") != (got[0].Detail == "") {
				t.Errorf("%+v, want %s with %q", got, c.outcome, c.detail)
			}
			_, err := os.Stat(path)
			if kept := c.outcome == sys.SweptUnknown; kept != (err == nil) {
				t.Errorf("kept %v, want %v", err == nil, kept)
			}
			for _, dir := range []string{here, plain} {
				if _, err := os.Stat(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestRecordRemoved: without its record no restart finds a tree, and what is told
// says so.
func TestRecordRemoved(t *testing.T) {
	records := filepath.Join(t.TempDir(), "records")
	h := sweeping(t, records)
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeTreeOnRestart {
		t.Errorf("%+v", g)
	}
	for _, name := range files(t, records) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeLeader {
		t.Errorf("without the record: %+v", g)
	}
}
