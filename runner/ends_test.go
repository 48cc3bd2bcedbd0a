//go:build unix

package runner

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	// ticks writes so many lines, so many milliseconds apart, and stays.
	systest.Register("ticks", func(args []string) int {
		n, _ := strconv.Atoi(args[0])
		ms, _ := strconv.Atoi(args[1])
		for i := range n {
			fmt.Println("tick", i)
			<-time.After(time.Duration(ms) * time.Millisecond)
		}
		<-time.After(time.Minute)
		return 1
	})
	// prompt writes its argument and reads to the end of its input.
	systest.Register("prompt", func(args []string) int {
		fmt.Print(args[0])
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return 1
		}
		return 0
	})
	// burn uses so many milliseconds of a processor.
	systest.Register("burn", func(args []string) int {
		ms, _ := strconv.Atoi(args[0])
		var b syscall.Rusage
		for {
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &b); err != nil {
				return 1
			}
			if time.Duration(b.Utime.Nano()+b.Stime.Nano()) >= time.Duration(ms)*time.Millisecond {
				return 0
			}
		}
	})
}

// patient runs with longer and longer clocks until the helper was ready in time
// for what was to happen to it, which a busy machine may not grant at once.
func patient(t *testing.T, ready string, first time.Duration, run func(d time.Duration) *result) *result {
	t.Helper()
	for d := first; ; d *= 2 {
		r := run(d)
		if strings.Contains(r.out.String(), ready) {
			return r
		}
		if d > guard/4 {
			t.Fatalf("within %v it did not say %q, but %q", d, ready, r.out.String())
		}
	}
}

func (r *result) shutdown(t *testing.T) map[string]any {
	t.Helper()
	end := r.event(t, EventCleanupFinished)
	want(t, "remaining", end["remaining"], any(0.0))
	want(t, "kill error", end["kill_error"], any(false))
	sh, ok := end["shutdown"].(map[string]any)
	if !ok {
		t.Fatalf("no shutdown in %v", end)
	}
	return sh
}

// A program that ends when it is asked is not killed, and its last words are heard.
func TestPoliteEnd(t *testing.T) {
	grace := time.Hour // far more than do waits
	r := patient(t, "ready", 300*time.Millisecond, func(d time.Duration) *result {
		o := helper(t, "on-term", "bye")
		o.Timeout, o.Grace = d, &grace
		return do(t, o)
	})
	want(t, "code", r.Code, ExitTimeout)
	want(t, "said", r.out.String(), "ready\nbye")
	e := r.event(t, EventTimeout)
	want(t, "reason", e["reason"], any("overall"))
	want(t, "grace", e["grace_ms"], any(3600000.0))
	sh := r.shutdown(t)
	want(t, "drained", sh["drained_within_grace"], any(true))
	want(t, "escalated", sh["escalated"], any(false))
}

// One that does not is killed when its grace is over.
func TestStubbornEnd(t *testing.T) {
	none, some := time.Duration(0), 300*time.Millisecond
	for _, grace := range []*time.Duration{nil, &none, &some} {
		r := patient(t, "ready", 300*time.Millisecond, func(d time.Duration) *result {
			o := helper(t, "ignore-term")
			o.Timeout, o.Grace = d, grace
			return do(t, o)
		})
		want(t, "code", r.Code, ExitTimeout)
		var ms any
		if grace != nil {
			ms = float64(grace.Milliseconds())
		}
		want(t, "grace", r.event(t, EventTimeout)["grace_ms"], ms)
		sh := r.shutdown(t)
		want(t, "escalated", sh["escalated"], any(true))
		if grace == &some {
			want(t, "drained", sh["drained_within_grace"], any(false))
			if took := sh["elapsed_ms"].(float64); took < ms.(float64) {
				t.Errorf("killed after %v ms of a grace of %v", took, ms)
			}
		}
	}
}

// Output puts the idle clock back: a run that is over twice as long as it, but
// never silent for as long, ends by its last silence.
func TestIdleClockIsFed(t *testing.T) {
	const lines = 10
	r := patient(t, fmt.Sprint("tick ", lines-1), 400*time.Millisecond, func(d time.Duration) *result {
		o := helper(t, "ticks", strconv.Itoa(lines), strconv.Itoa(int(d.Milliseconds()/4)))
		o.IdleTimeout = d
		return do(t, o)
	})
	want(t, "code", r.Code, ExitTimeout)
	want(t, "reason", r.event(t, EventTimeout)["reason"], any("idle"))
	want(t, "lines", strings.Count(r.out.String(), "\n"), lines)
}

// What the program used is known when it is over.
func TestProcessorTime(t *testing.T) {
	r := do(t, helper(t, "burn", "300"))
	want(t, "code", r.Code, 0)
	ms, ok := r.event(t, EventResourceSummary)["total_cpu_ms"].(float64)
	if !ok || ms < 200 || ms > 5000 {
		t.Errorf("total_cpu_ms is %v of 300", r.event(t, EventResourceSummary)["total_cpu_ms"])
	}
}

// A prompt is in the transcript while the program waits for what follows.
func TestPromptIsInTheTranscript(t *testing.T) {
	o := helper(t, "prompt", "name? ")
	o.CaptureDir = t.TempDir()
	ready := &spoke{c: make(chan struct{})}
	o.Stdout = ready
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	o.Input, o.Stdin = InputInherit, in
	end := make(chan *result, 1)
	go func() { end <- do(t, o) }()
	select {
	case <-ready.c:
	case r := <-end:
		t.Fatalf("it ended before it said anything: %+v", r.Ending)
	}
	late := time.Now().Add(guard)
	for path := filepath.Join(o.CaptureDir, "stdout.log"); ; time.Sleep(5 * time.Millisecond) {
		held, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			break
		}
		if bytes.Equal(held, []byte("name? ")) {
			break
		}
		if time.Now().After(late) {
			t.Errorf("the transcript holds %q", held)
			break
		}
	}
	w.Close()
	want(t, "code", (<-end).Code, 0)
}
