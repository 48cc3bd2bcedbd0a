package server

import (
	"context"
	"encoding/json"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// codeNoResource is the legacy era's code for a resource that does not exist.
// The modern era has -32602 for that.
const codeNoResource = -32002

// resourceMethods are the methods of the resources capability. In the modern
// era a subscription is part of a listen.
func (s *Server) resourceMethods() map[string]wire.Method {
	return map[string]wire.Method{
		"resources/list":           {Eras: wire.Both, Inline: true, Handle: fixed(`"resources":[]`)},
		"resources/templates/list": {Eras: wire.Both, Inline: true, Handle: fixed(resourceTemplates)},
		"resources/read":           {Eras: wire.Both, Handle: s.readResource},
		"resources/subscribe":      {Eras: wire.Legacy, Inline: true, Handle: s.subscribe},
		"resources/unsubscribe":    {Eras: wire.Legacy, Inline: true, Handle: s.unsubscribe},
	}
}

// Jobs are too many and too short-lived to be listed one by one: list does
// that, and the template makes a URI of each.
const resourceTemplates = `"resourceTemplates":[` +
	`{"uriTemplate":"` + recordTemplate + `","name":"job","title":"Job record","mimeType":"application/json",` +
	`"description":"The record of a job as status gives it. Subscribers hear of every change of its state."},` +
	`{"uriTemplate":"` + outputTemplate + `","name":"job_output","title":"Job output","mimeType":"text/plain",` +
	`"description":"The lines kept of a job's output, those after a cursor when after is given. Subscribers hear of new lines."}]`

// fixed is a method that always says the same, for as long as the process
// lives.
func fixed(members string) func(context.Context, *wire.Request) (json.RawMessage, *wire.Error) {
	legacy := json.RawMessage("{" + members + "}")
	modern := json.RawMessage(`{"ttlMs":3600000,"cacheScope":"public",` + members + "}")
	return func(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
		if _, there := parseArgs(r.Params).members.get("cursor"); there {
			return nil, invalid("%s: unknown cursor: the list has one page", r.Method)
		}
		if r.Era == wire.Modern {
			return modern, nil
		}
		return legacy, nil
	}
}

// resourceOf finds the resource that a request names.
func (s *Server) resourceOf(r *wire.Request) (resource, string, *wire.Error) {
	uri, ok := parseArgs(r.Params).text("uri")
	if !ok {
		return resource{}, "", invalid("%s: params.uri is required and must be a string", r.Method)
	}
	res, ok := s.resource(uri)
	if !ok {
		e := invalid("%s: no resource %s; there are %s and %s with the id of a job that list shows",
			r.Method, quoted(uri), recordTemplate, outputTemplate)
		e.Data = map[string]string{"uri": uri}
		if r.Era == wire.Legacy {
			e.Code = codeNoResource
		}
		return resource{}, "", e
	}
	return res, uri, nil
}

func (s *Server) readResource(ctx context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	res, uri, e := s.resourceOf(r)
	if e != nil {
		return nil, e
	}
	if res.output {
		defer room(ctx, r.Conn, job.MaxBudget)()
	}
	contents := s.contents(res, uri)
	o := newObject(64 + len(contents))
	if r.Era == wire.Modern {
		o.num("ttlMs", 0)
		o.str("cacheScope", "private")
	}
	o.key("contents")
	o.b = append(append(append(o.b, '['), contents...), ']')
	return o.close(), nil
}
