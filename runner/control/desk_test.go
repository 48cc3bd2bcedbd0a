package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// fakeDesk has jobs that say and do what a test wants.
type fakeDesk struct {
	jobs []Job
	said []Said
	end  chan struct{} // Logs that follow, and Stop, wait for it
	told chan StopOrder
}

func (f *fakeDesk) About() About { return About{Role: "mcp", PID: 7, Scope: "s"} }
func (f *fakeDesk) Jobs() []Job  { return f.jobs }

func (f *fakeDesk) find(id string) (Job, error) {
	for _, j := range f.jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return Job{}, ErrNoJob
}

func (f *fakeDesk) Logs(ctx context.Context, q LogsQuery, tell func(Said) error) (Job, error) {
	j, err := f.find(q.ID)
	if err != nil {
		return j, err
	}
	for _, x := range f.said {
		if err := tell(x); err != nil {
			return j, err
		}
	}
	return j, f.wait(ctx, q.Follow)
}

func (f *fakeDesk) Stop(ctx context.Context, o StopOrder, accepted func() error) (Job, error) {
	j, err := f.find(o.ID)
	if err != nil {
		return j, err
	}
	f.told <- o
	if err := accepted(); err != nil {
		return j, err
	}
	j.State = "killed"
	return j, f.wait(ctx, true)
}

func (f *fakeDesk) wait(ctx context.Context, wait bool) error {
	if !wait {
		return nil
	}
	select {
	case <-f.end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func serveDesk(t *testing.T, f *fakeDesk) *Server {
	t.Helper()
	f.end, f.told = make(chan struct{}), make(chan StopOrder, 1)
	return listen(t, "a server", nil, f)
}

// A list has as many jobs as there are, and none is cut.
func TestJobs(t *testing.T) {
	f := &fakeDesk{}
	for i := range 5000 {
		f.jobs = append(f.jobs, Job{ID: fmt.Sprintf("job-%d", i), State: "running", Label: strings.Repeat("é", 64)})
	}
	s := serveDesk(t, f)
	about, jobs, err := Jobs(t.Context(), s.Endpoint(), "a server")
	if err != nil || about.Role != "mcp" || about.PID != 7 || about.Scope != "s" || len(jobs) != 5000 || jobs[4999].ID != "job-4999" {
		t.Errorf("%+v, %d jobs, %v", about, len(jobs), err)
	}
	if _, _, err := Jobs(t.Context(), s.Endpoint(), "another"); !errors.Is(err, ErrIncompatible) {
		t.Errorf("as another: %v", err)
	}
	f.jobs = nil
	if _, jobs, err := Jobs(t.Context(), s.Endpoint(), "a server"); err != nil || len(jobs) != 0 {
		t.Errorf("none: %d %v", len(jobs), err)
	}
}

// A server is no run, and a run without a desk has no jobs.
func TestOtherVerbs(t *testing.T) {
	s := serveDesk(t, &fakeDesk{})
	if _, err := Inspect(t.Context(), s.Endpoint(), "a server"); !errors.Is(err, ErrRefused) {
		t.Errorf("inspect: %v", err)
	}
	if _, _, err := Jobs(t.Context(), serve(t, &fakeRun{}).Endpoint(), "a run"); !errors.Is(err, ErrRefused) {
		t.Errorf("jobs: %v", err)
	}
	if answer := say(t, s.Endpoint(), "logs {\n"); !strings.Contains(answer, `"error"`) {
		t.Errorf("half an object: %s", answer)
	}
}

// Every line comes as it was said, a very long one too, and then the end.
func TestLogs(t *testing.T) {
	f := &fakeDesk{jobs: []Job{{ID: "a", State: "running"}}, said: []Said{
		{Stream: "stdout", Dropped: 9},
		{Stream: "stdout", Seq: 10, Text: ""},
		{Stream: "stderr", Seq: 11, Text: strings.Repeat("\x01", 1<<20), Partial: true},
	}}
	s := serveDesk(t, f)
	var got []Said
	heard := func(x Said) error { got = append(got, x); return nil }
	end, err := Logs(t.Context(), s.Endpoint(), LogsQuery{ID: "a"}, heard)
	if err != nil || end.ID != "a" || len(got) != 3 || got[0] != f.said[0] || got[1] != f.said[1] || got[2] != f.said[2] {
		t.Errorf("%+v, %d lines, %v", end, len(got), err)
	}
	if _, err := Logs(t.Context(), s.Endpoint(), LogsQuery{ID: "b"}, heard); !errors.Is(err, ErrNoJob) {
		t.Errorf("unknown: %v", err)
	}
	full := errors.New("no room")
	if _, err := Logs(t.Context(), s.Endpoint(), LogsQuery{ID: "a", Follow: true}, func(Said) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// A follow lasts until the job has ended, or the one who asked gives up, which
// frees its place.
func TestFollow(t *testing.T) {
	f := &fakeDesk{jobs: []Job{{ID: "a"}}, said: []Said{{Stream: "stdout", Text: "x"}}}
	s := serveDesk(t, f)
	for range 2 * streams {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Logs(ctx, s.Endpoint(), LogsQuery{ID: "a", Follow: true}, func(Said) error { cancel(); return nil })
		for busy := 0; errors.Is(err, ErrRefused); busy++ { // those that gave up are still leaving
			if busy == 1000 {
				t.Fatal(err)
			}
			<-time.After(10 * time.Millisecond)
			_, err = Logs(ctx, s.Endpoint(), LogsQuery{ID: "a", Follow: true}, func(Said) error { return nil })
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	began := make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := Logs(t.Context(), s.Endpoint(), LogsQuery{ID: "a", Follow: true}, func(Said) error { close(began); return nil })
		done <- err
	}()
	<-began
	close(f.end)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestStop(t *testing.T) {
	f := &fakeDesk{jobs: []Job{{ID: "a"}}}
	s := serveDesk(t, f)
	grace := int64(9)
	accepted := make(chan struct{})
	go func() { <-accepted; close(f.end) }()
	end, err := Stop(t.Context(), s.Endpoint(), "a server", StopOrder{ID: "a", GraceMS: &grace}, func() { close(accepted) })
	if o := <-f.told; err != nil || end.State != "killed" || *o.GraceMS != 9 || o.Now {
		t.Errorf("%+v %+v %v", end, o, err)
	}
	if _, err := Stop(t.Context(), s.Endpoint(), "a server", StopOrder{ID: "b"}, func() { t.Error("accepted") }); !errors.Is(err, ErrNoJob) {
		t.Errorf("%v", err)
	}
}

// Readers that do not read keep neither the others nor the end of the server
// waiting, and there are places left for short questions.
func TestStalledReaders(t *testing.T) {
	f := &fakeDesk{jobs: []Job{{ID: "a"}}}
	for range 64 {
		f.said = append(f.said, Said{Stream: "stdout", Text: strings.Repeat("x", 64<<10)})
	}
	s := serveDesk(t, f)
	for range streams {
		c := dial(t, s.Endpoint())
		if _, err := c.Write([]byte(`logs {"job_id":"a","follow":true}` + "\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(c, 16).ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Jobs(t.Context(), s.Endpoint(), "a server"); err != nil {
		t.Error(err)
	}
	if _, err := Logs(t.Context(), s.Endpoint(), LogsQuery{ID: "a"}, func(Said) error { return nil }); !errors.Is(err, ErrRefused) {
		t.Errorf("one stream more: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestBadLists(t *testing.T) {
	const about = `{"jobs_version":%d,"run_id":"a server","role":"mcp","pid":1,"count":%d}` + "\n"
	job := `{"job_id":"a","state":"running","started_at":"x"}` + "\n"
	for _, c := range []struct {
		answer string
		want   error
	}{
		{fmt.Sprintf(about, 1, 1) + job, nil},
		{fmt.Sprintf(about, 2, 1) + job, ErrIncompatible},
		{fmt.Sprintf(about, 1, -1), ErrIncompatible},
		{fmt.Sprintf(about, 1, maxJobs+1), ErrIncompatible},
		{fmt.Sprintf(about, 1, 2) + job, ErrUnreachable},
		{fmt.Sprintf(about, 1, 1) + "{\n", ErrIncompatible},
		{fmt.Sprintf(about, 1, 1) + `{"error":"no"}` + "\n", ErrRefused},
		{"", ErrUnreachable},
		{strings.Repeat("x", maxSaid+maxLine), ErrIncompatible},
	} {
		if _, _, err := Jobs(t.Context(), liar(t, c.answer), "a server"); !errors.Is(err, c.want) {
			t.Errorf("%.80q: %v", c.answer, err)
		}
	}
}
