package belfry_test

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// sizeBudget is the most that the stripped binary may weigh, in bytes.
const sizeBudget = 12 << 20

// linked are the modules that the binary may contain on any system, each with
// the reason why it is worth its weight.
var linked = map[string]string{
	module: "ourselves",
	gosdk:  "the protocol's own library: types, sessions, both eras",
	schema: "go-sdk's schemas, and ours for the tools' arguments",

	"github.com/segmentio/encoding":      "go-sdk decodes its messages with it",
	"github.com/segmentio/asm":           "segmentio/encoding",
	"github.com/yosida95/uritemplate/v3": "go-sdk's resource templates",
	"golang.org/x/oauth2":                "go-sdk's client side, linked though unused",
	"golang.org/x/sync":                  "go-sdk",
	"golang.org/x/time":                  "go-sdk",

	xsys:     "the kernels' calls that the standard library lacks",
	renameio: "a policy file is replaced whole or not at all",

	"golang.org/x/term":                    "is this a terminal, and how wide",
	"github.com/spf13/cobra":               "verbs, flags, completions",
	"github.com/spf13/pflag":               "cobra's flags",
	"github.com/inconshreveable/mousetrap": "cobra on Windows: started by a double click",
	"github.com/mitchellh/go-ps":           "the process table of Windows and the BSDs",
	"github.com/Microsoft/go-winio":        "named pipes of Windows with deadlines",
	"github.com/creack/pty":                "a terminal of a run's own",
	"github.com/gofrs/flock":               "two changes of one policy lose nothing; the same call on every system",
}

// systems are those whose binary is looked at. The module graph differs only
// by system, never by processor.
var systems = []string{"linux", "darwin", "windows"}

func goCommand(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
		}
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// The go command runs behind go test's back; the answer is cached with the
// sources that TestLayers reads and with go.mod and go.sum, read here.
func TestBinaryModules(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]bool{}
	for _, system := range systems {
		out := goCommand(t, []string{"GOOS=" + system, "GOARCH=amd64", "CGO_ENABLED=0"},
			"list", "-deps", "-json=ImportPath,Module,CgoFiles,Standard", "./cmd/belfry")
		dec := json.NewDecoder(strings.NewReader(string(out)))
		for {
			var p struct {
				ImportPath string
				Standard   bool
				CgoFiles   []string
				Module     *struct{ Path string }
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if len(p.CgoFiles) > 0 {
				t.Errorf("%s: %s uses cgo", system, p.ImportPath)
			}
			if p.ImportPath == "testing" {
				t.Errorf("%s: the binary links package testing", system)
			}
			if p.Module == nil {
				continue
			}
			used[p.Module.Path] = true
			if linked[p.Module.Path] == "" {
				t.Errorf("%s: %s comes from %s, which is not on the list of binary_test.go",
					system, p.ImportPath, p.Module.Path)
			}
		}
	}
	for m := range linked {
		if !used[m] {
			t.Errorf("%s is in no binary: drop it from the list of binary_test.go", m)
		}
	}
}

func TestBinarySize(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole binary")
	}
	exe := filepath.Join(t.TempDir(), "belfry")
	goCommand(t, []string{"CGO_ENABLED=0"}, "build", "-trimpath", "-ldflags=-s -w", "-o", exe, "./cmd/belfry")

	info, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s/%s: %.2f MiB", runtime.GOOS, runtime.GOARCH, float64(info.Size())/(1<<20))
	if info.Size() > sizeBudget {
		t.Errorf("the stripped binary has %d bytes, more than %d", info.Size(), sizeBudget)
	}

	build, err := buildinfo.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	setting := func(key string) string {
		i := slices.IndexFunc(build.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if i < 0 {
			return ""
		}
		return build.Settings[i].Value
	}
	if setting("CGO_ENABLED") != "0" || setting("-trimpath") != "true" {
		t.Errorf("built with CGO_ENABLED=%q -trimpath=%q", setting("CGO_ENABLED"), setting("-trimpath"))
	}
	for _, m := range build.Deps {
		if linked[m.Path] == "" {
			t.Errorf("the binary contains %s, which is not on the list of binary_test.go", m.Path)
		}
	}
}
