package server

import "encoding/json"

// The schemas are written out, not inferred, because their whole list has to
// fit a small part of a model's context. Inputs leave additionalProperties
// open: an argument that is not known is ignored. Outputs do too, so that a
// record can gain a field. What a reply may hold is tested against them.

func schema(s string) json.RawMessage { return json.RawMessage(s) }

// Parts of input schemas.
const (
	jobID    = `"job_id":{"type":"string","description":"from run"}`
	stream   = `"stream":{"type":"string","enum":["both","stdout","stderr"],"default":"both"}`
	readOpts = stream + `,"max_bytes":{"type":"integer","default":12288,"description":"most bytes of the reply, 512 to 67108864"},` +
		`"include_pending":{"type":"boolean","description":"also show text without its newline yet, such as a prompt"},` +
		`"timestamps":{"type":"boolean","description":"add when each line was read"}`
	oneJob = `{"type":"object","properties":{` + jobID
	needs  = `},"required":["job_id"]}`
)

const (
	runInput = `{"type":"object","properties":{` +
		`"command":{"description":"program and arguments, each a string of its own; with shell true a line","anyOf":[` +
		`{"type":"array","items":{"type":"string"},"minItems":1},{"type":"string","minLength":1}]},` +
		`"shell":{"type":"boolean","default":false,"description":"run command by the system's shell"},` +
		`"cwd":{"type":"string","description":"working directory; default the server's"},` +
		`"env":{"type":"object","description":"environment: mode merge (default) adds vars to PATH and HOME, replace takes vars alone","properties":{` +
		`"mode":{"type":"string","enum":["merge","replace"]},` +
		`"vars":{"type":"object","additionalProperties":{"type":"string"}}}},` +
		`"label":{"type":"string","maxLength":64,"description":"a name to know the job by"},` +
		`"deadline_ms":{"type":"number","exclusiveMinimum":0,"maximum":2147483647,"description":"end the job so long after its start"},` +
		`"on_exit":{"type":"string","enum":["reap","wait"],"default":"reap","description":"when the first process ends: reap ends its tree, wait keeps the job running until that is empty"},` +
		`"merge_stderr":{"type":"boolean","description":"both streams in exact order, as stdout"},` +
		`"contain":{"type":"string","enum":["strict","tree","group"],"description":"least containment that will do; default the best short of strict"},` +
		`"allow_weaker":{"type":"boolean","description":"run where contain cannot be had"},` +
		`"end_with_client":{"type":"boolean"},` +
		`"detach":{"type":"boolean","description":"outlive the server; the next one has the job"},` +
		`"limits":{"type":"object","description":"caps on the whole tree; one that cannot be had fails the job","properties":{` +
		`"memory_bytes":{"type":"integer","minimum":1},` +
		`"tasks":{"type":"integer","minimum":1,"description":"threads on Linux, processes on Windows"},` +
		`"cpus":{"type":"number","exclusiveMinimum":0,"description":"0.5: half a processor"}}}},` +
		`"required":["command"],` +
		`"if":{"properties":{"command":{"type":"string"}},"required":["command"]},` +
		`"then":{"properties":{"shell":{"const":true}},"required":["shell"]}}`

	statusInput = oneJob + needs

	listInput = `{"type":"object","properties":{` +
		`"state":{"type":"string","enum":["starting","running","exited","killed","failed"],"description":"only jobs in this state"},` +
		`"limit":{"type":"integer","minimum":1,"default":100}}}`

	outputInput = oneJob + `,` + readOpts + `,` +
		`"after_cursor":{"type":"integer","minimum":0,"default":0,"description":"only lines with a higher seq"},` +
		`"limit":{"type":"integer","minimum":1,"description":"most lines"}` + needs

	tailInput = oneJob + `,` + readOpts + `,` +
		`"lines":{"type":"integer","minimum":1,"default":100}` + needs

	followInput = oneJob + `,` + readOpts + `,` +
		`"cursor":{"type":"integer","minimum":0,"description":"wait for lines with a higher seq; default: from now on"},` +
		`"timeout_ms":{"type":"integer","minimum":1,"default":45000}` + needs

	killInput = oneJob + `,` +
		`"signal":{"type":"string","minLength":1,"default":"SIGTERM"},` +
		`"grace_ms":{"type":"number","minimum":0,"maximum":2147483647,"description":"between SIGTERM and SIGKILL; default 5000, 0 kills at once"},` +
		`"wait":{"type":"boolean","default":true,"description":"false: answer when the signal is sent"}` + needs
)

// Parts of output schemas.
const (
	text   = `{"type":"string"}`
	whole  = `{"type":"integer"}`
	truth  = `{"type":"boolean"}`
	things = `{"type":"object"}`
	state  = `{"type":"string","enum":["starting","running","exited","killed","failed"]}`

	record = `"job_id":` + text + `,"state":` + state + `,"started_at":` + text + `,"ended_at":` + text +
		`,"exit_code":` + whole + `,"signal":` + text + `,"ended_by":` + text +
		`,"diagnostic":{"type":"object","properties":{"reason":` + text + `,"code":` + text + `,"message":` + text +
		`,"limits":{"type":"array"}}}` +
		`,"queue_position":` + whole + `,"command_summary":` + text + `,"label":` + text +
		`,"counts":` + things + `,"kill_confirmed":` + truth +
		`,"duration_ms":` + whole + `,"ending":` + things + `,"leader_exit":` + things + `,"stopped":` + truth +
		`,"usage":` + things + `,"limit_evidence":` + things + `,"drained":` + truth + `,"survivors":{"type":"array","items":` + things + `}`

	page = `"events":{"type":"array","items":{"type":"object","properties":{"seq":` + whole +
		`,"stream":{"type":"string","enum":["stdout","stderr"]},"text":` + text + `,"partial":` + truth + `,"clipped":` + truth +
		`,"time":` + text + `},"required":["seq","stream","text"]}}` +
		`,"next_cursor":` + whole + `,"truncated":` + truth +
		`,"dropped":{"description":"lines lost, or by stream when both were read"},"pending":` + things

	head = `{"type":"object","properties":{`
)

const (
	recordOutput = head + record + `},"required":["job_id","state","started_at","command_summary","label","counts"]}`

	// A run that is turned away is an error with a payload of its own, and some
	// clients hold that against this schema too: so nothing is required.
	runOutput = head + record + `,"rejected":` + truth + `,"reason":` + text + `}}`

	statusOutput = head + record + `,"pid":` + whole + `,"birth_identity":` + things + `,"mechanism":` + text + `,"guarantee":` + things + `,"limits":` + things +
		`},"required":["job_id","state"]}`

	pageOutput = head + page + `},"required":["events","next_cursor"]}`

	followOutput = head + record + `,` + page +
		`,"reason":{"type":"string","enum":["output","terminal","timeout"]},"note":` + text +
		`},"required":["job_id","state","events","next_cursor","reason"]}`

	listOutput = head + `"jobs":{"type":"array","items":{"type":"object","properties":{"job_id":` + text + `,"label":` + text +
		`,"state":` + state + `,"started_at":` + text + `,"queue_position":` + whole + `,"exit_code":` + whole + `,"signal":` + text +
		`,"ended_by":` + text + `,"ended_at":` + text + `},"required":["job_id","label","state","started_at"]}}` +
		`,"concurrency_cap":` + whole + `,"truncated":` + truth + `},"required":["jobs","concurrency_cap"]}`
)
