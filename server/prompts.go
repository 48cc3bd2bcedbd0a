package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/belfry-dev/belfry/server/wire"
)

// prompt is a request that a person can pick in a client. Its text is the
// message to the model, with {name} standing for an argument.
type prompt struct {
	name, title, description, text string
	arguments                      []promptArgument
}

type promptArgument struct {
	name, description string
	required          bool
	otherwise         string // stands in for an argument that was not given
}

var prompts = []prompt{
	{
		name: "run_tests", title: "Run the tests in the background",
		description: "Start the project's tests as a background job, go on working, and report when they end.",
		arguments: []promptArgument{{name: "command",
			description: "how the tests are run; found out from the project when absent",
			otherwise:   "the command that this project documents for its tests"}},
		text: "Start {command} with belfry's run tool: a label that says what it is, a deadline_ms if it may hang, and shell " +
			"true if it needs a shell line. Go on with other work meanwhile. Then wait with follow from cursor 0, passing " +
			"next_cursor on each time, until reason is terminal. Report how it ended and quote the lines that show each " +
			"failure; do not repeat the rest of the output.",
	},
	{
		name: "watch_job", title: "Watch a job",
		description: "Follow one job, tell what matters in its output, and say how it ended.",
		arguments:   []promptArgument{{name: "job_id", description: "the job, as list shows it", required: true}},
		text: "Watch the belfry job {job_id}. Read what it has printed so far with tail, then wait with follow and its " +
			"next_cursor until reason is terminal. Speak up as soon as a line shows an error or a question that waits for an " +
			"answer; do not repeat ordinary progress. In the end say how it ended and what to do about it.",
	},
	{
		name: "clean_up", title: "Clean up jobs",
		description: "Look through the jobs that still run and end those that are not needed any more.",
		text: "Call belfry's list with state running, and with state starting for what waits in the queue. For each job " +
			"say what it is, how long it has run and whether anything still needs it. Ask before you end one that was not " +
			"started in this conversation; end the others that are not needed with kill, and check that kill_confirmed is true.",
	},
}

// promptMethods are the methods of the prompts capability, and completion.
func (s *Server) promptMethods() map[string]wire.Method {
	return map[string]wire.Method{
		"prompts/list":        {Eras: wire.Both, Inline: true, Handle: fixed(promptList())},
		"prompts/get":         {Eras: wire.Both, Inline: true, Handle: getPrompt},
		"completion/complete": {Eras: wire.Both, Inline: true, Handle: s.complete},
	}
}

func promptList() string {
	b := []byte(`"prompts":[`)
	for i, p := range prompts {
		if i > 0 {
			b = append(b, ',')
		}
		o := newObject(512)
		o.str("name", p.name)
		o.str("title", p.title)
		o.str("description", p.description)
		if len(p.arguments) > 0 {
			o.objects("arguments", len(p.arguments), func(i int) {
				a := &p.arguments[i]
				o.str("name", a.name)
				o.str("description", a.description)
				o.flag("required", a.required)
			})
		}
		b = append(b, o.close()...)
	}
	return string(append(b, ']'))
}

// findPrompt gives nil when there is none of that name.
func findPrompt(name string) *prompt {
	for i := range prompts {
		if prompts[i].name == name {
			return &prompts[i]
		}
	}
	return nil
}

func getPrompt(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	a := parseArgs(r.Params)
	name, ok := a.text("name")
	if !ok {
		return nil, invalid("%s: params.name is required and must be a string", r.Method)
	}
	p := findPrompt(name)
	if p == nil {
		return nil, invalid("%s: no prompt %s", r.Method, quoted(name))
	}
	given := a.object("arguments")
	if given == nil {
		given = parseArgs(nil)
	}
	var replace []string
	for _, arg := range p.arguments {
		value, ok := given.text(arg.name)
		if !ok || value == "" {
			if arg.required {
				given.refuse(arg.name, "is required")
			}
			value = arg.otherwise
		}
		replace = append(replace, "{"+arg.name+"}", value)
	}
	a.adopt(given)
	if a.err != nil {
		return nil, invalid("%s: params.%v", r.Method, a.err)
	}
	o := newObject(256 + 2*len(p.text))
	o.str("description", p.description)
	o.key("messages")
	o.b = append(o.b, `[{"role":"user","content":{"type":"text","text":`...)
	o.b = wire.AppendString(o.b, strings.NewReplacer(replace...).Replace(p.text))
	o.b = append(o.b, "}}]"...)
	return o.close(), nil
}
