package server

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/belfry-dev/belfry/job"
)

// The resources of a job: its record, and the lines that are kept of its
// output.
const (
	jobsURI        = "belfry://jobs/"
	recordTemplate = "belfry://jobs/{id}"
	outputTemplate = "belfry://jobs/{id}/output{?stream,after}"
)

// resource is what a URI of ours names.
type resource struct {
	job    *job.Job
	output bool
	sel    job.Sel // of the output
	after  uint64
}

// resource finds what a URI names; false when there is no such thing.
func (s *Server) resource(uri string) (resource, bool) {
	path, query, _ := strings.Cut(uri, "?")
	path, ours := strings.CutPrefix(path, jobsURI)
	id, output := strings.CutSuffix(path, "/output")
	if !ours || query != "" && !output {
		return resource{}, false
	}
	r := resource{output: output, sel: job.SelBoth}
	values, err := url.ParseQuery(query)
	if err != nil {
		return resource{}, false
	}
	for name, list := range values {
		value := list[len(list)-1]
		switch name {
		case "stream":
			sel, ok := selections[value]
			if !ok {
				return resource{}, false
			}
			r.sel = sel
		case "after":
			if r.after, err = strconv.ParseUint(value, 10, 64); err != nil {
				return resource{}, false
			}
		default:
			return resource{}, false
		}
	}
	var ok bool
	r.job, ok = s.store.Get(id)
	return r, ok
}

// selections are the values of stream.
var selections = map[string]job.Sel{"both": job.SelBoth, "stdout": job.SelStdout, "stderr": job.SelStderr}

// contents writes what a resource holds now, as the one element of contents.
func (s *Server) contents(r resource, uri string) json.RawMessage {
	if !r.output {
		snap := r.job.Snapshot()
		text := s.statusPayload(&snap)
		o := newObject(256 + len(uri) + 2*len(text))
		o.str("uri", uri)
		o.str("mimeType", "application/json")
		o.str("text", string(text))
		return o.close()
	}
	p := r.job.Output(job.Query{After: r.after, Sel: r.sel, Budget: job.MaxBudget})
	var text strings.Builder
	for i := range p.Lines {
		text.WriteString(p.Lines[i].Text)
		if !p.Lines[i].Partial {
			text.WriteByte('\n')
		}
	}
	o := newObject(256 + len(uri) + text.Len() + text.Len()/8)
	o.str("uri", uri)
	o.str("mimeType", "text/plain")
	o.str("text", text.String())
	o.open("_meta")
	o.count("belfry/next_cursor", p.Next)
	if n := p.Loss[job.Stdout].Dropped + p.Loss[job.Stderr].Dropped; n > 0 {
		o.count("belfry/dropped", n)
	}
	o.end()
	return o.close()
}
