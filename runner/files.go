package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// named is a file that a run uses and what the command line calls it.
type named struct {
	what string
	path string      // absolute; "" for one that is open
	info os.FileInfo // nil: it is not there yet, or cannot be asked
}

func namedFile(what, path string) named {
	n := named{what: what}
	n.path, _ = filepath.Abs(path) // Best effort: opening it tells.
	n.info, _ = os.Stat(path)      // Best effort, as above.
	return n
}

// is reports whether both are one file that would be emptied. A device or a FIFO
// keeps nothing, so it may be named as often as one likes.
func (n named) is(m named) bool {
	if n.info == nil || m.info == nil {
		return n.path != "" && n.path == m.path
	}
	return n.info.Mode().IsRegular() && os.SameFile(n.info, m.info)
}

// distinct refuses a file that is to be emptied and is also one of others: what
// the run reads would be lost, and what it writes would be mixed.
func (n named) distinct(others []named) error {
	for _, m := range others {
		if n.is(m) {
			return fmt.Errorf("%s: it is the file of %s as well; each needs one of its own", n.what, m.what)
		}
	}
	return nil
}

// transcripts are the files of --capture-dir.
func (o *Options) transcripts() []named {
	if o.CaptureDir == "" {
		return nil
	}
	return []named{
		namedFile("--capture-dir's "+stdoutLog, filepath.Join(o.CaptureDir, stdoutLog)),
		namedFile("--capture-dir's "+stderrLog, filepath.Join(o.CaptureDir, stderrLog)),
	}
}

// others are the files that the run reads, or copies its output to.
func (o *Options) others() []named {
	var all []named
	for _, f := range o.Env.Files {
		all = append(all, namedFile("--env-file", f))
	}
	if o.Input == InputFile {
		all = append(all, namedFile("--stdin-file", o.InFile))
	}
	for i, stream := range []any{o.Stdin, o.Stdout, o.Stderr} {
		f, _ := stream.(*os.File)
		used := !o.NoEcho
		if i == 0 {
			used = o.Input == InputInherit || o.Inherit
		}
		if f == nil || !used {
			continue
		}
		info, _ := f.Stat() // Best effort: using it tells.
		all = append(all, named{what: "standard " + [...]string{"input", "output", "error"}[i], info: info})
	}
	return all
}
