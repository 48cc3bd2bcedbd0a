package server

import (
	"context"
	"slices"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

func (s *Server) runTool() wire.Tool {
	return wire.Tool{
		Name: "run", Title: "Run a command in the background",
		Description: "Start a command as a background job and answer at once with its job_id; never waits for the command. " +
			"Then use follow to wait for lines or the end, output or tail to read, kill to stop it. " +
			"Stdin is empty. A command that cannot start (bad cwd, no such program, policy) is a job " +
			"born failed whose diagnostic says why. With every slot taken the job waits in a queue (queue_position).",
		InputSchema: schema(runInput), OutputSchema: schema(runOutput),
		Annotations: hints(false, true, false, true),
		Handle:      s.run,
	}
}

func (s *Server) run(ctx context.Context, c *wire.Call) wire.Result {
	a := parseArgs(c.Arguments)
	sp := runSpec(a)
	tied := a.flag("end_with_client", false)
	sp.Detach = s.detach && !tied
	if who := clientOf(c); who != nil {
		sp.Origin = who.Origin
		sp.Detach = who.Detach && !tied
	}
	sp.Detach = a.flag("detach", sp.Detach)
	if tied && sp.Detach {
		a.refuse("detach", "and end_with_client exclude each other: a job cannot outlive its client and end with it")
	}
	if a.err != nil {
		return failed("run", a.err)
	}
	// A cancelled run keeps its job, so the start must not depend on when the
	// cancel arrives.
	j, err := s.store.Run(context.WithoutCancel(ctx), sp)
	if err != nil {
		return failed("run", err)
	}
	if tied && c.Conn != nil {
		go endWithClient(c.Conn, j)
	}
	snap := j.Snapshot()
	payload := s.payload(&snap)
	res := reply(payload)
	if c.Tasks {
		res = s.mint(c, j, &snap, payload)
	}
	if doors := s.wakes.doors(c); len(doors) > 0 && !snap.Terminal() {
		sent := res.Sent
		res.Sent = func() {
			if sent != nil {
				sent()
			}
			go s.wakeHost(c.Conn.Context(), j, doors)
		}
	}
	return res
}

// endWithClient ends a job when the client that started it is gone.
func endWithClient(c *wire.Conn, j *job.Job) {
	select {
	case <-j.Done():
	case <-c.Done():
		// Best effort: a job that cannot be ended says so in its record.
		_ = j.Kill(context.Background(), job.Kill{NoWait: true})
	}
}

// runSpec reads the arguments of run.
func runSpec(a *args) job.Spec {
	sp := job.Spec{
		Shell:       a.flag("shell", false),
		OnExit:      job.OnExit(a.oneOf("on_exit", "", string(job.Reap), string(job.Wait))),
		MergeStderr: a.flag("merge_stderr", false),
		Contain:     job.Contain(a.oneOf("contain", "", string(job.ContainStrict), string(job.ContainTree), string(job.ContainGroup))),
		AllowWeaker: a.flag("allow_weaker", false),
		Limits:      limits(a),
	}
	sp.Command = command(a, sp.Shell)
	if dir, ok := a.text("cwd"); ok {
		sp.Dir = &dir
	}
	if label, ok := a.text("label"); ok {
		sp.Label = &label
	}
	if d := a.span("deadline_ms", false); d != nil {
		sp.Deadline = *d
	}
	sp.Env = environment(a)
	return sp
}

func command(a *args, shell bool) []string {
	raw, there := a.members.get("command")
	switch {
	case !there:
		a.refuse("command", `is required: an array of strings, program first, such as ["make", "test"]`)
	case isType(raw, "an array"):
		return a.strings("command", raw)
	case !isType(raw, "a string"):
		a.wrong("command", "an array of strings", raw)
	case !shell:
		a.refuse("command", `must be an array of strings, not a string; pass shell: true to run a command line`)
	default:
		line, _ := a.text("command")
		return []string{line}
	}
	return nil
}

// limits reads what caps the tree. A limit of 0 is a mistake, not none, and so is
// one that there is not: nothing runs that was to be limited and is not.
func limits(a *args) (l job.Limits) {
	in := a.object("limits")
	if in == nil {
		return l
	}
	for _, name := range in.members.names() {
		if !slices.Contains([]string{"memory_bytes", "tasks", "cpus"}, name) {
			in.refuse(name, "is no limit; memory_bytes, tasks and cpus are")
		}
	}
	l.MemoryBytes, _ = in.integer("memory_bytes", 1)
	l.Tasks = in.count("tasks", 1, 0)
	if f, ok := in.number("cpus"); ok {
		if l.CPUs = f; f <= 0 {
			in.refuse("cpus", "must be a number of processors above 0, such as 0.5")
		}
	}
	a.adopt(in)
	return l
}

func environment(a *args) job.Env {
	in := a.object("env")
	if in == nil {
		return job.Env{}
	}
	env := job.Env{Replace: in.oneOf("mode", "merge", "merge", "replace") == "replace"}
	if vars := in.object("vars"); vars != nil {
		env.Vars = make(map[string]string, len(vars.members))
		for _, name := range vars.members.names() {
			env.Vars[name], _ = vars.text(name)
		}
		in.adopt(vars)
	}
	a.adopt(in)
	return env
}
