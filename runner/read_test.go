package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// written is a stream of a whole run.
func written(t testing.TB, runID string, filler int) []byte {
	t.Helper()
	var b bytes.Buffer
	add := func(e Event) {
		t.Helper()
		line, err := Encode(SchemaVersion, time.Now(), e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	code := 7
	add(RunStarted{RunID: runID, Labels: map[string]string{}, Mechanism: MechanismCgroupV2, AbruptCleanup: AbruptWholeTree, Command: Command{Redacted: true}})
	for range filler {
		add(MembersSnapshot{Reason: "interval", Members: []Member{}})
	}
	add(RunnerExit{Code: code, Source: SourceChild, ChildCode: &code})
	for line := range bytes.SplitAfterSeq(b.Bytes(), []byte("\n")) {
		if err := Validate(line); len(line) > 0 && err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return b.Bytes()
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	text := "a\n\nbc\r\n" + long + "\n" + long + "y\n" + long + long + "\nlast"
	type seen struct {
		text      string
		long, cut bool
	}
	want := []seen{{"a", false, false}, {"", false, false}, {"bc\r", false, false}, {long, false, false}, {long, true, false}, {long, true, false}, {"last", false, true}}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		var l Lines
		var got []seen
		each := func(line Line) error {
			if line.N != len(got)+1 {
				t.Errorf("%s: line %d is number %d", name, len(got)+1, line.N)
			}
			got = append(got, seen{string(line.Data), line.Long, line.Cut})
			return nil
		}
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			if err := l.Feed(b[:n], each); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				break
			}
		}
		if err := l.End(each); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines", name, len(got))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, line %d: %.20q %v %v", name, i+1, got[i].text, got[i].long, got[i].cut)
			}
		}
	}
}

func TestShow(t *testing.T) {
	for data, want := range map[string]string{
		`{"schema_version":1,"time":"T","event":"killed","source":"control_kill"}`: "T  killed source=control_kill",
		`{"event":"new_one","b":{"x":[1,2]},"a":"two words","c":null,"d":""}`:      `-  new_one a="two words" b={"x":[1,2]} c=null d=""`,
		`{"event":"e","k":"\u001b[2J\u202e"}`:                                      `-  e k= [2J `,
	} {
		s, err := Line{Data: []byte(data)}.Show()
		if err != nil || s.String() != want {
			t.Errorf("%s: %q %v", data, s, err)
		}
	}
	for data, want := range map[string]string{
		"nope": "not JSON", "[]": "not a JSON object", "null": "not a JSON object", "": "empty", `{"a":1}`: `no key "event"`, `{"event":7}`: `no key "event"`,
	} {
		if s, err := (Line{Data: []byte(data)}).Show(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q %v", data, s, err)
		}
	}
	if _, err := (Line{Data: []byte(`{"event":"kil`), Cut: true}).Show(); !errors.Is(err, errCut) {
		t.Errorf("%v", err)
	}
	if err := (Line{Data: []byte(`{"event":"kil`), Cut: true}).Check(); !errors.Is(err, errCut) {
		t.Errorf("%v", err)
	}
	if err := (Line{Data: []byte(`{}`), Long: true}).Check(); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
}

func TestReadOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ev")
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := written(t, "a", 2000)
	if len(whole) < 3*window {
		t.Fatalf("only %d bytes", len(whole))
	}
	put(whole)
	if e, err := ReadOutcome(path, "a"); err != nil || e.Code != 7 || e.Source != SourceChild || *e.ChildCode != 7 {
		t.Errorf("%+v %v", e, err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for name, data := range map[string][]byte{
		"another run": written(t, "b", 0),
		"no exit":     whole[:last],
		"a cut exit":  whole[:len(whole)-1],
		"empty":       nil,
		"no start":    whole[bytes.IndexByte(whole, '\n')+1:],
		"broken exit": append(bytes.Clone(whole[:last]), `{"schema_version":1,"time":"2026-01-02T03:04:05.678Z","event":"runner_exit","code":7}`+"\n"...),
		"one line":    bytes.Repeat([]byte("x"), 3*window),
	} {
		put(data)
		if e, err := ReadOutcome(path, "a"); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if _, err := ReadOutcome(path+".none", "a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The window's edge falls on a line's beginning: the line counts.
func TestTailAtLineStart(t *testing.T) {
	exit := written(t, "a", 0)
	exit = exit[bytes.IndexByte(exit, '\n')+1:]
	first := written(t, "a", 0)
	first = first[:bytes.IndexByte(first, '\n')+1]
	for extra := -2; extra <= 2; extra++ {
		pad := bytes.Repeat([]byte("x"), window-len(exit)-1+extra)
		data := append(append(append(bytes.Clone(first), exit...), pad...), '\n')
		path := filepath.Join(t.TempDir(), "ev")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadOutcome(path, "a")
		if want := extra <= 0; (err == nil) != want {
			t.Errorf("with %d bytes more than the window: %v", extra, err)
		}
	}
}

// follow collects what a follower sees until it ends.
func follow(t *testing.T, path string) (lines func() int, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	seen := make(chan int, 10_000)
	done := make(chan error, 1)
	go func() { done <- FollowEvents(ctx, path, func(l Line) error { seen <- l.N; return nil }) }()
	return func() int { return len(seen) }, done
}

func TestFollowEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ev")
	s, err := openStream(path, SchemaVersion, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	seen, ended := follow(t, path)
	s.write(RunStarted{RunID: "a", Labels: map[string]string{}, Mechanism: MechanismUnknown, AbruptCleanup: AbruptNone})
	for deadline := time.Now().Add(30 * time.Second); seen() < 1; {
		if time.Now().After(deadline) {
			t.Fatal("the first line is not seen")
		}
		<-time.After(5 * time.Millisecond)
	}
	// A line that only looks like the end is none.
	if _, err := s.f.WriteString(`{"event":"runner_exit","code":0}` + "\n"); err != nil {
		t.Fatal(err)
	}
	s.write(Killed{Source: "control_kill"})
	s.write(RunnerExit{Code: 109, Source: SourceControlKill})
	if err := <-ended; err != nil || seen() != 4 {
		t.Errorf("%d lines, %v", seen(), err)
	}
}

// A writer that is gone without a last word ends a follower, which tells of the
// line that was cut.
func TestFollowAbruptEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ev")
	s, err := openStream(path, SchemaVersion, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	seen, ended := follow(t, path)
	s.write(Killed{Source: "control_kill"})
	if _, err := s.f.WriteString(`{"schema_version":1,"ti`); err != nil {
		t.Fatal(err)
	}
	s.close()
	if err := <-ended; !errors.Is(err, ErrNoRunnerExit) || seen() != 2 {
		t.Errorf("%d lines, %v", seen(), err)
	}
	// The same, found already over.
	if err := FollowEvents(t.Context(), path, func(Line) error { return nil }); !errors.Is(err, ErrNoRunnerExit) {
		t.Errorf("%v", err)
	}
}

func TestFollowTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ev")
	s, err := openStream(path, SchemaVersion, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.write(Killed{Source: "control_kill"})
	seen, ended := follow(t, path)
	for deadline := time.Now().Add(30 * time.Second); seen() < 1; {
		if time.Now().After(deadline) {
			t.Fatal("the first line is not seen")
		}
		<-time.After(5 * time.Millisecond)
	}
	if err := s.f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errTruncated) {
		t.Errorf("%v", err)
	}
}

func FuzzTail(f *testing.F) {
	whole := written(f, "a", 1)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte("\n\n{}\n"))
	f.Add([]byte(`{"schema_version":1,"time":"2026-01-02T03:04:05.678Z","event":"runner_exit","code":300,"source":"child_exit","child_code":null}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, ok := lastExit(data); ok && !bytes.Contains(data, []byte(e.Source)) {
			t.Fatalf("%+v from %q", e, data)
		}
		n := 0
		var l Lines
		each := func(line Line) error {
			n++
			line.Check()
			if s, err := line.Show(); err == nil && strings.ContainsAny(s.String(), "\n\x1b\u202e") {
				t.Fatalf("%q is shown as %q", line.Data, s)
			}
			return nil
		}
		if l.Feed(data, each) != nil || l.End(each) != nil {
			t.Fatal("an error of nobody's")
		}
		want := bytes.Count(data, []byte("\n"))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			want++
		}
		if n != want {
			t.Fatalf("%d lines of %d", n, want)
		}
	})
}
