package systest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// marker is the first argument of a helper process.
const marker = "systest-helper"

// Helper is what a helper process does; it gives the exit status.
type Helper func(args []string) int

// Register adds a helper of the calling package, before Main. The suite fails
// when no test used it.
func Register(name string, h Helper) {
	if _, taken := registry[name]; taken {
		panic("systest: helper " + name + " is registered twice")
	}
	registry[name] = h
	own = append(own, name)
}

var (
	registry = builtin()
	own      []string // names that this test binary registered itself
	used     = newNames()
)

// Main runs a helper when this process was started as one, else the tests and
// then the leak checks. It does not return.
func Main(m *testing.M) {
	sys.Init()
	if len(os.Args) > 2 && os.Args[1] == marker {
		h, ok := registry[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "systest: no helper", os.Args[2])
			os.Exit(2)
		}
		os.Exit(h(os.Args[3:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	before := openFiles()
	code := m.Run()
	if code != 0 || partial() {
		_ = groupLeaks() // removes what is empty
		return code
	}
	for _, name := range own {
		if !slices.Contains(used.list(), name) {
			fmt.Fprintf(os.Stderr, "systest: helper %s was registered and never used\n", name)
			code = 1
		}
	}
	for _, leak := range leaks(before) {
		fmt.Fprintln(os.Stderr, "systest: leak:", leak)
		code = 1
	}
	return code
}

// Spare says that a test which is skipped would have used these helpers.
func Spare(names ...string) {
	for _, name := range names {
		used.add(name)
	}
}

// Command gives what starts a helper: the test binary, its arguments and the
// environment to give it.
func Command(name string, args ...string) (path string, argv, env []string) {
	if _, ok := registry[name]; !ok {
		panic("systest: no helper " + name)
	}
	used.add(name)
	path = self()
	return path, append([]string{path, marker, name}, args...), os.Environ()
}
