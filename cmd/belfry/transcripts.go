package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
)

// transcripts prints what a run that has ended left in files: the lines of one
// stream after those of the other, as their order among each other is not kept.
func (p *printer) transcripts(t registry.Tombstone, tail *int) error {
	if t.CaptureDir == "" {
		return &failure{status: runner.ExitControl, kind: "not_found", runID: t.RunID,
			err:  fmt.Errorf("%s: the run has ended (%d) and kept no transcript", shown(t.RunID), t.Code),
			hint: "belfry run --capture-dir DIR keeps one"}
	}
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		if p.only != "" && p.only != k.String() {
			continue
		}
		err := p.transcript(k, filepath.Join(t.CaptureDir, k.String()+".log"), tail)
		switch {
		case errors.Is(err, errOutput):
			return err
		case err != nil:
			return &failure{status: runner.ExitSetup, runID: t.RunID, err: fmt.Errorf("read transcript: %w", err)}
		}
	}
	return nil
}

func (p *printer) transcript(k ring.Kind, path string, tail *int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := newest{most: tail}
	for b := bufio.NewReader(f); ; {
		text, err := b.ReadString('\n')
		if text != "" {
			rest, whole := strings.CutSuffix(text, "\n")
			first, full := lines.add(control.Said{Stream: k.String(), Text: rest, Partial: !whole})
			if full {
				if err := p.said(first); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, x := range lines.kept {
		if err := p.said(x); err != nil {
			return err
		}
	}
	return nil
}

// newest keeps the newest lines of a file, or hands each on at once where all
// are wanted.
type newest struct {
	most *int
	kept []control.Said
}

func (n *newest) add(x control.Said) (out control.Said, now bool) {
	if n.most == nil {
		return x, true
	}
	n.kept = append(n.kept, x)
	if len(n.kept) > *n.most {
		n.kept = n.kept[1:]
	}
	return x, false
}
