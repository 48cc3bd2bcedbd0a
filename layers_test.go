// Package belfry_test holds the walls of the house: who may import whom, which
// modules the binary may contain, and how long a file may be.
package belfry_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/belfry-dev/belfry"

// source is one Go file of the repository, whatever its build constraints.
type source struct {
	path string // slash-separated, from the root
	room string // its folder, "." for the root
	test bool
	data []byte
	tree *ast.File
}

// sources reads the files itself, with no go command between: so go test sees
// what it read and does not answer from its cache after a change, and the
// files of all systems are seen at once.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && name != ".ci" && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
				base == "testdata" || name == "build" || name == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		all = append(all, source{
			path: slash,
			room: roomOf(slash),
			test: isTest(slash),
			data: data,
			tree: tree,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func roomOf(slash string) string { return path.Dir(slash) }

func isTest(slash string) bool { return strings.HasSuffix(slash, "_test.go") }

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	behind := map[string]map[string]bool{}
	for _, f := range sources(t) {
		r, known := rooms[f.room]
		if !known {
			t.Errorf("%s: the room %s is not in the table of walls_test.go", f.path, f.room)
			continue
		}
		seen[f.room] = true
		for _, spec := range f.tree.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", f.path, err)
			}
			if reason := refuse(f, r, imported); reason != "" {
				t.Errorf("%s imports %s: %s", f.path, imported, reason)
			}
			for _, m := range oneFile {
				if within(imported, m) && !f.test {
					if behind[m] == nil {
						behind[m] = map[string]bool{}
					}
					behind[m][f.path] = true
				}
			}
		}
	}
	for name := range rooms {
		if !seen[name] {
			t.Errorf("the room %s has no Go file: drop it from the table of walls_test.go", name)
		}
	}
	for m, files := range behind {
		if len(files) > 1 {
			t.Errorf("%s stands behind more than one file: %v", m, files)
		}
	}
}

// refuse gives the reason why f may not import a path, or "".
func refuse(f source, r room, imported string) string {
	allow := []room{r}
	if f.test {
		allow = append(allow, testsToo, testOnly[f.room])
	}
	if imported == module || strings.HasPrefix(imported, module+"/") {
		target := strings.TrimPrefix(imported, module+"/")
		if f.test && target == f.room {
			return "" // an external test package looks at its own room
		}
		if !slices.ContainsFunc(allow, func(a room) bool { return slices.Contains(a.ours, target) }) {
			return f.room + " may not look into " + target
		}
		if f.room == "sys" && isKernel(target) && kernel(f.path) != target {
			return "only a file of that system may import its kernel room"
		}
		return ""
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		if imported == "C" {
			return "the binary is cgo-free"
		}
		for _, p := range r.noStd {
			if within(imported, p) && !f.test {
				return f.room + " does without " + p
			}
		}
		return ""
	}
	for _, a := range allow {
		if slices.ContainsFunc(a.modules, func(m string) bool { return within(imported, m) }) {
			return ""
		}
	}
	return f.room + " may not use this module"
}

// within reports whether a package path is root or lies below it.
func within(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/")
}

func isKernel(room string) bool {
	return room == "linux" || room == "darwin" || room == "windows"
}

// kernel is the kernel room that a file's name lets it import.
func kernel(name string) string {
	name = strings.TrimSuffix(name, "_test.go")
	name = strings.TrimSuffix(name, ".go") + ".go"
	for suffix, room := range kernelOf {
		if strings.HasSuffix(name, suffix) {
			return room
		}
	}
	return ""
}

func TestCalls(t *testing.T) {
	used := map[string]bool{} // file and function
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, c := range calls {
				if !imports(f.tree, x.Name, c.pkg) || !c.matches(sel.Sel.Name) {
					continue
				}
				used[f.path+" "+c.pkg+"."+c.name] = true
				if !slices.Contains(c.rooms, f.room) && c.files[f.path] == "" {
					line := 1 + bytes.Count(f.data[:sel.Pos()-1], []byte("\n"))
					t.Errorf("%s:%d uses %s.%s: %s", f.path, line, c.pkg, sel.Sel.Name, c.reason)
				}
			}
			return true
		})
	}
	for _, c := range calls {
		for file := range c.files {
			if !used[file+" "+c.pkg+"."+c.name] {
				t.Errorf("%s does not use %s.%s: drop it from the table of walls_test.go", file, c.pkg, c.name)
			}
		}
	}
}

func (c call) matches(name string) bool {
	if prefix, wild := strings.CutSuffix(c.name, "*"); wild {
		return strings.HasPrefix(name, prefix)
	}
	return name == c.name
}

// imports reports whether name stands for the package pkg in a file.
func imports(tree *ast.File, name, pkg string) bool {
	for _, spec := range tree.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name == name
		}
		return path.Base(pkg) == name
	}
	return false
}

// Files stay small enough to be read in one go: none over 500 lines, and nine
// of ten up to 350.
func TestFileSizes(t *testing.T) {
	const longest, p90 = 500, 350
	var counts []int
	for _, f := range sources(t) {
		if ast.IsGenerated(f.tree) {
			continue
		}
		lines := bytes.Count(f.data, []byte("\n"))
		if lines > longest {
			t.Errorf("%s has %d lines, more than %d: one idea a file", f.path, lines, longest)
		}
		counts = append(counts, lines)
	}
	slices.Sort(counts)
	if n := counts[len(counts)*9/10]; n > p90 {
		t.Errorf("nine of ten files have up to %d lines, more than %d", n, p90)
	}
}

// Each room says what it is in a file that every system builds.
func TestRoomsHaveDocs(t *testing.T) {
	docs := map[string]bool{}
	for _, f := range sources(t) {
		if f.tree.Doc != nil && (path.Base(f.path) == "doc.go" || f.tree.Name.Name == "main") {
			docs[f.room] = true
		}
	}
	for name := range rooms {
		if name != "." && !docs[name] {
			t.Errorf("%s has no doc.go with a package comment", name)
		}
	}
}
