package belfry_test

// room says what the Go files of one folder may import beside the standard
// library. Folders are named as they stand in the tree; a folder that is not
// in the table fails the test, so that a new room is a decision.
type room struct {
	ours    []string // rooms
	modules []string // module paths; packages below them are covered
	noStd   []string // standard packages that are walled off, with those below them
}

const (
	xsys     = "golang.org/x/sys"
	gosdk    = "github.com/modelcontextprotocol/go-sdk"
	schema   = "github.com/google/jsonschema-go"
	renameio = "github.com/google/renameio/v2"
)

var rooms = map[string]room{
	".":       {},
	"linux":   {modules: []string{xsys}},
	"darwin":  {modules: []string{xsys}},
	"windows": {modules: []string{xsys}},
	"sys": {
		ours: []string{"linux", "darwin", "windows"}, // one each: see kernelOf
		modules: []string{
			"github.com/mitchellh/go-ps",
			"github.com/creack/pty",
			"github.com/Microsoft/go-winio",
			"github.com/gofrs/flock",
		},
	},
	"sys/systest": {ours: []string{"sys"}},
	"ring":        {noStd: []string{"net", "os", "flag"}},
	// Two rooms that know nothing of each other run short functions in great number.
	"internal/workers": {noStd: []string{"net", "os", "flag"}},
	"job":              {ours: []string{"ring", "sys", "internal/workers"}, noStd: []string{"net", "flag", "os/exec"}},
	// The published schema itself is what checks a line.
	"runner": {ours: []string{"job", "sys", "runner/value", "runner/registry", "runner/control", "runner/desk"}, modules: []string{schema}, noStd: []string{"flag", "os/exec"}},
	// Part of the runner: a job's supervisor is a runner without a stream.
	"runner/detach":     {ours: []string{"job", "sys", "runner", "runner/registry", "runner/control", "runner/desk"}, noStd: []string{"net", "flag", "os/exec"}},
	"daemon":            {ours: []string{"sys"}, noStd: []string{"flag", "os/exec"}},
	"server/wire":       {ours: []string{"internal/workers"}, modules: []string{gosdk}},
	"server/client":     {},
	"server/hostwake":   {},
	"server/clienttest": {},
	"server": {
		ours:    []string{"job", "server/wire", "server/hostwake"},
		modules: []string{gosdk, schema},
		noStd:   []string{"flag", "os/exec"},
	},
	"runner/value":    {noStd: []string{"net", "os", "flag"}},
	"runner/registry": {ours: []string{"sys", "runner/value"}, noStd: []string{"net", "flag", "os/exec"}},
	"runner/control":  {ours: []string{"sys", "runner/value"}, noStd: []string{"flag", "os/exec"}},
	"runner/desk":     {ours: []string{"job", "ring", "runner/control"}, noStd: []string{"net", "flag", "os/exec"}},
	"runner/console":  {ours: []string{"runner/control", "runner/registry", "runner/value"}, noStd: []string{"net", "flag", "os/exec"}},
	// A program for tests only: no other room may look into it.
	"server/internal/fixtureserver": {ours: []string{"job", "sys", "server", "server/wire"}, modules: []string{gosdk}},
	"cmd/belfry": {
		ours: []string{
			"sys", "ring", "job", "runner", "daemon", "server", "server/wire", "server/hostwake",
			"runner/value", "runner/registry", "runner/control", "runner/desk", "runner/console", "runner/detach",
		},
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", renameio, "golang.org/x/term"},
	},
	"cmd/belfry/e2e": {ours: []string{"server/client"}},
	"bench":          {ours: []string{"ring", "job", "sys", "daemon", "server", "server/wire", "server/client", "cmd/belfry/e2e"}},
	// A module of its own: what belfry is compared with is in no other go.sum.
	"bench/cmd/compare": {
		ours:    []string{"server/client"},
		modules: []string{"code.cloudfoundry.org/go-diodes", "github.com/smallnest/ringbuffer"},
	},
	"docs/demo": {ours: []string{"server/client"}},
	// Programs that CI builds and runs beside the tests; no other room may look
	// into them.
	".ci/prng":    {},
	".ci/vm":      {ours: []string{".ci/vm/plan"}},
	".ci/vm/plan": {},
	".ci/vm/init": {ours: []string{".ci/vm/plan"}, modules: []string{xsys}},
}

// testsToo is what the tests of every room may import beside what the room may.
var testsToo = room{
	ours:    []string{"sys/systest", "server/client"},
	modules: []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal"},
}

// testOnly is what the tests of one room may import beside that.
var testOnly = map[string]room{
	// What is read back from a journal is compared with the ring that was written.
	"runner/detach": {ours: []string{"ring"}},
	// A server is tested over real jobs, and a job needs a host.
	"server":      {ours: []string{"sys"}},
	"runner/desk": {ours: []string{"sys"}},
	// The client is tested against the real front.
	"server/client": {ours: []string{"server/wire"}},
	// One of the clients that are not ours is a Go library.
	"server/clienttest": {modules: []string{gosdk, schema}},
	// The schema goldens are read back by the library that clients use.
	"server/wire": {modules: []string{schema}},
}

// kernelOf is the one kernel room that a file of sys with this suffix may
// import. A file without the suffix imports none of them.
var kernelOf = map[string]string{
	"_linux.go":   "linux",
	"_darwin.go":  "darwin",
	"_windows.go": "windows",
}

// oneFile are the modules that stand behind a single file of sys, so that each
// can be replaced by changing one place.
var oneFile = []string{
	"github.com/mitchellh/go-ps",
	"github.com/creack/pty",
	"github.com/Microsoft/go-winio",
	"github.com/gofrs/flock",
}

// call is a function of the standard library that only some rooms, or some
// files of others, may use.
type call struct {
	pkg, name string   // name may end in * for a prefix
	reason    string   // why not everywhere
	rooms     []string // where it is allowed
	files     map[string]string
}

var calls = []call{
	{pkg: "os", name: "Exit",
		reason: "a library returns; sys ends only the helper processes that it is itself",
		rooms:  []string{"cmd/belfry", "bench/cmd/compare", "docs/demo", "server/internal/fixtureserver", "sys", "sys/systest", ".ci/prng", ".ci/vm", ".ci/vm/init"}},
	{pkg: "os", name: "Getenv", reason: "the environment is read in one place",
		rooms: []string{"cmd/belfry", "server/internal/fixtureserver"}},
	{pkg: "os", name: "LookupEnv",
		reason: "the environment is read in one place; daemon takes its own hand-off variable out of it",
		rooms:  []string{"cmd/belfry", "daemon"}},
	{pkg: "os", name: "Environ",
		reason: "the environment is read in one place; sys hands it on to its own helpers, daemon to what it starts",
		rooms:  []string{"cmd/belfry", "daemon", "sys", "sys/systest"}},
	{pkg: "fmt", name: "Print*", reason: "stdout belongs to the protocol or to the child: write to the stream you were given"},
	{pkg: "log", name: "*", reason: "return the error; only cmd/belfry talks to a person"},
	{pkg: "time", name: "Sleep", reason: "wait for the event itself",
		files: map[string]string{
			"sys/spawn_darwin.go":       "no event tells that a program is no longer open for writing",
			"sys/tree_pgroup_darwin.go": "no event tells that a process which ended before it was watched is a zombie",
		}},
	{pkg: "runtime", name: "LockOSThread",
		reason: "the kernel ends what a thread has started when the thread ends: belfry tells its host that none does (sys.HostOptions)",
		rooms:  []string{"sys", "darwin"}},
	{pkg: "syscall", name: "Wait4",
		reason: "waiting for any child steals another package's child", rooms: []string{"linux", "darwin"},
		files: map[string]string{".ci/vm/init/main.go": "the first process of a machine reaps whoever lost its parent"}},
}
