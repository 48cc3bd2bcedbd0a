//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// A program that fails at once is heard.
func TestFailureAtOnceIsHeard(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	const text = "ModuleNotFoundError: No module named 'nope'"
	batch(t, rounds(t, 200), 8, func() string {
		return s.begin(shell(fmt.Sprintf("echo \"%s\" >&2; exit 1", text))).JobID
	}, func(id string) {
		s.exited(s.end(id), 1)
		if got := s.text(id, "both"); got != text+"\n" {
			t.Errorf("text %q", got)
		}
	})
}

// batch begins n jobs, up to size at a time, and looks at each.
func batch(t *testing.T, n, size int, begin func() string, look func(id string)) {
	t.Helper()
	for n > 0 && !t.Failed() {
		var ids []string
		for range min(n, size) {
			ids = append(ids, begin())
		}
		n -= len(ids)
		for _, id := range ids {
			look(id)
		}
	}
}

// A job that has ended can be read as long as its record is kept.
func TestEndedJobsStayReadable(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin([]string{"echo", "hi"})
	s.exited(s.end(j.JobID), 0)
	wait := 5 * time.Second
	if testing.Short() {
		wait = time.Second
	}
	for over := time.After(wait); ; {
		select {
		case <-over:
		case <-time.After(100 * time.Millisecond):
			s.exited(s.end(s.begin([]string{"true"}).JobID), 0)
			continue
		}
		break
	}
	s.exited(s.status(j.JobID), 0)
	if got := s.text(j.JobID, "both"); got != "hi\n" {
		t.Errorf("text %q", got)
	}
}

// The last part of a fast program's output is there, every time.
func TestLastPartOfAFastProgram(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_RETAINED_JOBS": "50"}})
	var data bytes.Buffer
	for i := 0; data.Len() < 262_144; i++ {
		fmt.Fprintf(&data, "%063d\n", i*7919)
	}
	if data.Len() != 262_144 {
		t.Fatalf("the file has %d bytes", data.Len())
	}
	file := s.path("data")
	s.must(os.WriteFile(file, data.Bytes(), 0o644))
	batch(t, rounds(t, 500), 4, func() string { return s.begin([]string{"cat", file}).JobID }, func(id string) {
		r := s.end(id)
		s.exited(r, 0)
		if r.Counts.StdoutBytes != data.Len() {
			t.Errorf("%d bytes were counted, want %d", r.Counts.StdoutBytes, data.Len())
		}
		if got := s.text(id, "stdout"); got != data.String() {
			t.Errorf("%d bytes were read, not the file's %d", len(got), data.Len())
		}
	})
}

// A character that comes in pieces is whole, half a one is one mark.
func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin(helper("emoji"))
	s.exited(s.end(j.JobID), 0)
	for _, stream := range []string{"stdout", "stderr"} {
		if got, want := s.text(j.JobID, stream), "a\U0001F600b\nz\uFFFD"; got != want {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
	}
}

// A command that says nothing ends at once and is told so.
func TestNoOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin([]string{"grep", "-r", "zzzz_not_there", s.path("policy.json")})
	r := s.end(j.JobID)
	s.exited(r, 1)
	if r.Counts.StdoutBytes+r.Counts.StderrBytes+r.Counts.StdoutLines+r.Counts.StderrLines != 0 || len(r.Events) != 0 {
		t.Errorf("a silent job has output: %+v", r)
	}
	if p := s.tool("output", args{"job_id": j.JobID}); len(p.Events) != 0 || p.NextCursor != 0 || p.Truncated {
		t.Errorf("its page: %+v", p.page)
	}
}

// A program whose stderr nobody reads goes on.
func TestUnreadStderrDoesNotStop(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin(helper("errors", "5000000"))
	r := s.end(j.JobID)
	s.exited(r, 0)
	if r.Counts.StderrBytes != 5_000_000 {
		t.Errorf("%d bytes were counted", r.Counts.StderrBytes)
	}
}

// The last bytes of a fast program are there on a machine that is busy with
// something else, whether a newline ends them or not.
func TestLastBytesOnALoadedMachine(t *testing.T) {
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "64"}})
	burners(t)
	batch(t, rounds(t, 200), 1, func() string { return s.begin(shell("echo one; echo two >&2; printf three")).JobID }, func(id string) {
		s.exited(s.end(id), 0)
		if out, err := s.text(id, "stdout"), s.text(id, "stderr"); out != "one\nthree" || err != "two\n" {
			t.Errorf("stdout %q, stderr %q", out, err)
		}
	})
}

// The text of a job is data, whatever it looks like.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	text := "\x00\x1b[31m\"\\\u2028</script>&\x7f\xff"
	j := s.begin([]string{"sh", "-c", `printf "$1"; printf "\n"`, "sh", strings.ReplaceAll(`\000\033[31m"\\\342\200\250</script>&\177\377`, "%", "%%")})
	s.exited(s.end(j.JobID), 0)
	if got, want := s.text(j.JobID, "stdout"), strings.ToValidUTF8(text, "\uFFFD")+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
