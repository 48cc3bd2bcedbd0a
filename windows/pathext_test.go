package windows

import (
	"slices"
	"testing"
)

func TestExtensions(t *testing.T) {
	def := []string{".com", ".exe", ".bat", ".cmd"}
	for in, want := range map[string][]string{
		"":               def,
		";;":             def,
		".EXE;.Cmd;.exe": {".exe", ".cmd"},
		"py; .JS ;.":     {".py", ".js"},
	} {
		if got := Extensions(in); !slices.Equal(got, want) {
			t.Errorf("Extensions(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	ext := []string{".exe", ".cmd"}
	for name, want := range map[string][]string{
		"go":         {"go.exe", "go.cmd"},
		"go.exe":     {"go.exe", "go.exe.exe", "go.exe.cmd"},
		"node.js":    {"node.js", "node.js.exe", "node.js.cmd"},
		`C:\v1.2\go`: {`C:\v1.2\go.exe`, `C:\v1.2\go.cmd`},
		`..\x.cmd`:   {`..\x.cmd`, `..\x.cmd.exe`, `..\x.cmd.cmd`},
		".profile":   {".profile.exe", ".profile.cmd"},
	} {
		if got := Candidates(name, ext); !slices.Equal(got, want) {
			t.Errorf("Candidates(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"go": false, `a\b`: true, "a/b": true, "c:x": true} {
		if got := HasDirectory(name); got != want {
			t.Errorf("HasDirectory(%q) = %v", name, got)
		}
	}
	for path, want := range map[string]bool{
		`c:\x.BAT`: true, `x.cmd`: true, `x.cmd. `: true, `x.exe`: false, `cmd`: false, `x.cmd.exe`: false,
	} {
		if got := IsBatch(path); got != want {
			t.Errorf("IsBatch(%q) = %v", path, got)
		}
	}
	ext := []string{".exe", ".py"}
	for path, want := range map[string]bool{"a.EXE": true, "b.py": true, "c.txt": false, ".exe": false} {
		if got := IsProgram(path, ext); got != want {
			t.Errorf("IsProgram(%q) = %v", path, got)
		}
	}
}
