package server

import "github.com/belfry-dev/belfry/job"

// page writes a part of a job's output. What says nothing is absent.
func (o *object) page(p *job.Page, sel job.Sel) {
	o.objects("events", len(p.Lines), func(i int) {
		l := &p.Lines[i]
		o.count("seq", l.Seq)
		o.str("stream", l.Kind.String())
		o.line(l)
	})
	o.count("next_cursor", p.Next)
	if p.Truncated {
		o.flag("truncated", true)
	}
	o.loss(p, sel)
	o.pending(p)
}

// line writes what a line says.
func (o *object) line(l *job.Line) {
	o.str("text", l.Text)
	if l.Partial {
		o.flag("partial", true)
	}
	if l.Clipped {
		o.flag("clipped", true)
		o.num("text_bytes", int64(l.TextBytes))
	}
	o.timeIf("time", l.Time)
}

// loss tells what retention dropped: at the top for one stream, by stream for
// both.
func (o *object) loss(p *job.Page, sel job.Sel) {
	out, err := p.Loss[job.Stdout], p.Loss[job.Stderr]
	switch {
	case out.Dropped == 0 && err.Dropped == 0:
	case sel == job.SelStdout:
		o.lost(out)
	case sel == job.SelStderr:
		o.lost(err)
	default:
		o.open("dropped")
		for _, k := range []job.Kind{job.Stdout, job.Stderr} {
			if p.Loss[k].Dropped > 0 {
				o.open(k.String())
				o.lost(p.Loss[k])
				o.end()
			}
		}
		o.end()
	}
}

func (o *object) lost(l job.Loss) {
	o.count("dropped", l.Dropped)
	o.count("droppedBeforeCursor", l.FirstKept)
}

// pending writes the text that waits for its newline.
func (o *object) pending(p *job.Page) {
	if p.Pending[job.Stdout] == "" && p.Pending[job.Stderr] == "" {
		return
	}
	o.open("pending")
	for _, k := range []job.Kind{job.Stdout, job.Stderr} {
		o.strIf(k.String(), p.Pending[k])
	}
	o.end()
}

// pageSize guesses the room that a page takes.
func pageSize(p *job.Page) int {
	n := 256 + len(p.Pending[job.Stdout]) + len(p.Pending[job.Stderr])
	for i := range p.Lines {
		n += 64 + len(p.Lines[i].Text)
	}
	return n
}
