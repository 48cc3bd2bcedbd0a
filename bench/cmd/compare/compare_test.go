package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleWord && os.Args[2] == "peer" {
		os.Exit(playPeer(os.Args[3:]))
	}
	if len(os.Args) > 2 && os.Args[1] == roleWord && os.Args[2] == "compare" {
		os.Exit(compare(os.Args[3:], os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == roleWord {
		os.Exit(playRole(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func of(side string, took ...time.Duration) *series {
	s := &series{side: side}
	for _, d := range took {
		s.samples = append(s.samples, sample{took: d, cpu: d / 10, bytes: 1000})
	}
	return s
}

func TestTable(t *testing.T) {
	ms := time.Millisecond
	less := table{key: "k", title: "T & U", unit: "ms", base: "a"}.tabulate([]*series{
		of("a", 30*ms, 10*ms, 20*ms), of("b", 20*ms, 60*ms, 40*ms), {side: "c", failed: "no | such"},
	}, millis)
	b, _ := less.row("b")
	if b.best != 20 || b.median != 40 || b.bestOf != 2 || b.medianOf != 2 || b.cpuOf != 2 {
		t.Errorf("less is better: %+v", b)
	}
	if _, measured := less.row("c"); measured {
		t.Error("a side that failed counts as measured")
	}
	more := table{more: true, base: "a"}.tabulate([]*series{of("a", 10*ms, 20*ms)}, millis)
	if a, _ := more.row("a"); a.best != 20 {
		t.Errorf("more is better: %+v", a)
	}
	var text strings.Builder
	less.markdown(&text)
	for _, want := range []string{"| c | left out: no / such |", "| b | 20.0 | 40.0 |", "CPU s/GB"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	dec := xml.NewDecoder(strings.NewReader(less.svg()))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is not XML: %v\n%s", err, less.svg())
		}
	}
}

func TestASideThatFailsIsLeftOut(t *testing.T) {
	calls := map[string]int{}
	all := rounds(3, []string{"good", "bad"}, func(side string) (sample, error) {
		calls[side]++
		if side == "bad" {
			return sample{}, errors.New("broken")
		}
		return sample{took: 1}, nil
	}, t.Logf)
	if calls["good"] != 3 || calls["bad"] != 1 || all[1].failed != "broken" || len(all[0].samples) != 3 {
		t.Errorf("calls %v, sides %+v %+v", calls, all[0], all[1])
	}
}

// Every side that needs nothing else takes in all that its producer writes.
func TestTakers(t *testing.T) {
	for side := range takers {
		for _, l := range []load{{64_000 * 20, 64_000, 1}, {80 * 500, 80, 1}, {64_000, 64_000, 4}} {
			g := &ingest{load: l, dir: t.TempDir()}
			s, err := g.measure(side)
			if err != nil || s.took <= 0 || s.bytes != int64(l.bytes*l.jobs) {
				t.Errorf("%s, %+v: %+v %v", side, l, s, err)
			}
		}
	}
}

// A read that brings several stamps is as good as several that bring one.
func TestStampsIn(t *testing.T) {
	late, err := stampsIn(strings.NewReader("1000\n2000\n3000\n"))
	if err != nil || len(late) != 3 {
		t.Errorf("%v %v", late, err)
	}
	if _, err := stampsIn(strings.NewReader("1000\nnone\n")); err == nil {
		t.Error("a line that is no stamp was taken for one")
	}
}

func TestReadme(t *testing.T) {
	ms := time.Millisecond
	p := &report{rounds: 1, load: "999.5 2 3"}
	for _, key := range []string{"ingest", "unbuffered", "many", "follow", "run", "burst"} {
		all := []*series{of("cat", 10*ms), of("strings", 50*ms), of("blocking read", ms), of("spawn", ms), of("belfry", 2*ms)}
		p.add(table{key: key, unit: "ms"}, all, millis)
	}
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("before\n"+readmeBegin+"old\n"+readmeEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again replaces, too
		if err := p.intoReadme(file); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "before\n"+readmeBegin+"| |") || !strings.HasSuffix(got, readmeEnd+"after\n") ||
		strings.Contains(got, "old") || !strings.Contains(got, "had other work, then or a moment before") || strings.Count(got, "taking in 80-byte lines, ms") != 2 {
		t.Errorf("%s", got)
	}
	if err := os.WriteFile(file, []byte("nothing to replace\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.intoReadme(file); err == nil {
		t.Error("a file without marks was taken")
	}
}

// Without figures of belfry, or a place for them, what was written before stays.
func TestNothingIsWritten(t *testing.T) {
	dir := t.TempDir()
	none, readme, old := filepath.Join(dir, "none"), filepath.Join(dir, "README.md"), filepath.Join(dir, "report.md")
	for _, file := range []string{readme, old} {
		if err := os.WriteFile(file, []byte("as it was"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-belfry", none, "-only", "start", "-rounds", "1", "-out", dir}, "no figures of belfry"},
		{[]string{"-belfry", none, "-only", "start", "-rounds", "1", "-out", dir, "-readme", readme}, "no marks"},
	} {
		var out strings.Builder
		if code := compare(c.args, &out); code != 1 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: %d, %s", c.args, code, &out)
		}
	}
	for _, file := range []string{readme, old} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "as it was" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "-belfry is needed"},
		{[]string{"-help"}, 0, "usage: compare"},
		{[]string{"-belfry", "x", "-peer", "nonsense"}, 2, "want NAME=COMMAND"},
		{[]string{"-belfry", "x", "-peer", "belfry=x"}, 2, "another name"},
		{[]string{"-belfry", "x", "more"}, 2, "no other arguments"},
		{[]string{"-belfry", "x", "-only", "nonsense"}, 2, "no section"},
	} {
		var out strings.Builder
		if code := compare(c.args, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: %d, %s", c.args, code, &out)
		}
	}
}
