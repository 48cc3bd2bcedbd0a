package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
	"github.com/google/go-cmp/cmp"
)

// script writes down what a recorder is told.
type script struct {
	mu    sync.Mutex
	told  []func(to Recorder)
	words []string
}

func (s *script) note(word string, f func(to Recorder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.words = append(s.told, f), append(s.words, word)
}

func (s *script) Output(k Kind, at time.Time, b []byte) {
	b = bytes.Clone(b)
	s.note("output", func(to Recorder) { to.Output(k, at, b) })
}

func (s *script) Finish(k Kind, at time.Time) {
	s.note("finish", func(to Recorder) { to.Finish(k, at) })
}

func (s *script) Record(x Snapshot) {
	text, err := json.Marshal(x)
	var again Snapshot
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil {
		panic(err)
	}
	s.note(string(x.State), func(to Recorder) { to.Record(again) })
}

// What a supervisor tells makes the very job that it has: lines and numbers,
// counts and record, through JSON.
func TestSupervisedIsTold(t *testing.T) {
	const lines = 3000
	tree := newFakeTree()
	launcher := fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		if sp.Want != sys.LevelTree || !sp.AllowWeaker || sp.Limits.Tasks != 5 || sp.Dir != "/" || sp.Env[0] != "K=v" || sp.Approved.Size != 7 {
			t.Errorf("%+v", sp)
		}
		for i, f := range sp.Stdio[1:] { // less than a pipe holds
			var b strings.Builder
			for n := range lines {
				fmt.Fprintf(&b, "%d of %d\n", n, i)
			}
			if _, err := f.WriteString(b.String() + "rest"); err != nil {
				return nil, err
			}
		}
		tree.all(3, 0)
		return tree, nil
	}}
	rec := &script{}
	order := Order{ID: "aaaaaaaa-1111-4111-8111-111111111111", Label: "l", Command: "c", Client: "who", Created: time.Now(),
		Path: anyExecutable(t), Argv: []string{"x"}, Grace: time.Second, Retention: time.Hour,
		Env: []string{"K=v"}, Dir: "/", Approved: sys.FileStamp{Size: 7}, Contain: ContainTree, AllowWeaker: true, Limits: Limits{Tasks: 5}}
	s, j, err := Supervise(Config{Launcher: launcher}, order, func(*Job) (Recorder, error) { return rec, nil })
	if err != nil {
		t.Fatal(err)
	}
	<-j.Told()
	s.Close(context.Background())
	if rec.words[0] != "starting" || rec.words[1] != "running" || rec.words[len(rec.words)-1] != "exited" {
		t.Errorf("told: %.100v", rec.words)
	}
	copied := &Job{id: order.ID, store: must(NewStore(Config{Launcher: launcher})), done: make(chan struct{}), spawned: make(chan struct{}), left: make(chan struct{})}
	copied.store.slots = 1
	copied.rec.State = Starting
	copied.ring.Store(ring.NewJob(ring.DefaultLimits, nil))
	m := &mirror{j: copied, entered: true}
	var saved bytes.Buffer
	if err := errors.Join(ring.NewJob(ring.DefaultLimits, nil).Save(&saved), m.Restore(&saved)); err != nil {
		t.Fatal(err)
	}
	for _, tell := range rec.told {
		tell(m)
	}
	a, b := j.Snapshot(), copied.Snapshot()
	if diff := cmp.Diff(strings.Split(fmt.Sprintf("%+v", plain(a)), " "), strings.Split(fmt.Sprintf("%+v", plain(b)), " ")); diff != "" {
		t.Errorf("record (-supervised +told):\n%s", diff)
	}
	if *b.ExitCode != 3 || b.Label != "l" || b.Client != "who" || b.Command != "c" {
		t.Errorf("%+v", b)
	}
	p, q := j.Output(Query{Budget: MaxBudget, Timestamps: true}), copied.Output(Query{Budget: MaxBudget, Timestamps: true})
	if len(p.Lines) != 2*lines+2 || !cmp.Equal(p, q) {
		t.Errorf("%d lines, told %d", len(p.Lines), len(q.Lines))
	}
}

// plain is a record as JSON, which has neither pointers nor monotonic clocks.
func plain(s Snapshot) string {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
