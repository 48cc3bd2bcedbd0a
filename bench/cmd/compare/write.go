package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// write puts the report and its plots into a folder, or the report alone to out.
func (p *report) write(dir string, out io.Writer) error {
	text := p.markdown()
	if dir == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = replace(filepath.Join(dir, "report.md"), text)
	}
	for i := range p.tables {
		t := &p.tables[i]
		if err == nil {
			err = replace(filepath.Join(dir, t.key+".svg"), t.svg())
		}
	}
	return err
}

func (p *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What was measured\n\n%s\n\n", p.head())
	b.WriteString("Sides take turns within each comparison. Compare figures of one table only; the\nbest of many rounds says what the code can do, the median what the machine let it.\n\n")
	for i := range p.tables {
		p.tables[i].markdown(&b)
	}
	b.WriteString(p.curves.String())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// head names machine, date and command, and says if the machine had other work.
func (p *report) head() string {
	text := fmt.Sprintf("%s, %d processors, %s, %s; %s; load average at the start %s. Made by `make bench-report`, %d rounds.",
		processor(), runtime.NumCPU(), system(), runtime.Version(), time.Now().UTC().Format(time.DateOnly), p.load, p.rounds)
	var recent float64
	if _, err := fmt.Sscan(p.load, &recent); err == nil && recent > float64(runtime.NumCPU())/2 {
		text += " By that the machine had other work, then or a moment before, which may be in every figure."
	}
	return text
}

// processor is what the kernel calls it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

// system is the kernel and its version, without what a distribution adds.
func system() string {
	release, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	version, _, _ := strings.Cut(string(bytes.TrimSpace(release)), "-")
	return version
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	words := strings.Fields(string(text))
	if err != nil || len(words) < 3 {
		return "not known"
	}
	return strings.Join(words[:3], " ")
}

const (
	readmeBegin = "<!-- figures: make bench-report -->\n"
	readmeEnd   = "<!-- end of figures -->\n"
)

// marked gives what stands before and after the marks.
func marked(file string) (before, after string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	before, rest, found := strings.Cut(string(text), readmeBegin)
	_, after, closed := strings.Cut(rest, readmeEnd)
	if !found || !closed {
		return "", "", errors.New(file + " has no marks for the figures")
	}
	return before, after, nil
}

// intoReadme replaces what stands between the marks.
func (p *report) intoReadme(file string) error {
	before, after, err := marked(file)
	if err != nil {
		return err
	}
	figures, err := p.figures()
	if err != nil {
		return err
	}
	return replace(file, before+readmeBegin+figures+readmeEnd+after)
}

// figures are the main ones, for a reader in a hurry.
func (p *report) figures() (string, error) {
	var b strings.Builder
	b.WriteString("| | belfry | next to | |\n| --- | ---: | --- | ---: |\n")
	for _, f := range []struct{ key, what, base string }{
		{"ingest", "taking in 80-byte lines", "cat"},
		{"ingest", "taking in 80-byte lines", "strings"},
		{"unbuffered", "a line a write", "cat"},
		{"many", "64 jobs at once", "cat"},
		{"follow", "from a write to the reply that has it", "blocking read"},
		{"run", "a run of true, to the answer that it has ended", "spawn"},
		{"burst", "100 runs at once", "spawn"},
	} {
		t := p.table(f.key)
		if t == nil {
			return "", fmt.Errorf("the figures want all sections; %s was not run", f.key)
		}
		ours, have := t.row("belfry")
		base, had := t.row(f.base)
		if !have || !had {
			continue
		}
		fmt.Fprintf(&b, "| %s, %s | %s | %s %s | %s × |\n", f.what, t.unit, figure(ours.median), f.base, figure(base.median), ratio(ours.median/base.median))
		if f.key == "ingest" && ours.cpu > 0 && base.cpu > 0 {
			fmt.Fprintf(&b, "| processor time for that, s/GB | %s | %s %s | %s × |\n", figure(ours.cpu), f.base, figure(base.cpu), ratio(ours.cpu/base.cpu))
		}
	}
	fmt.Fprintf(&b, "\nMedians. %s All of it, with plots: [bench/results](bench/results/report.md).\n", p.head())
	return b.String(), nil
}

func (p *report) table(key string) *table {
	for i := range p.tables {
		if p.tables[i].key == key {
			return &p.tables[i]
		}
	}
	return nil
}
