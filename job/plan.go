package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/sys"
)

// plan is a spec that passed every check: what exactly to start.
type plan struct {
	path      string
	argv, env []string
	dir       string
	umask     *int
	approved  sys.FileStamp
}

// refusal is why nothing was or can be started.
type refusal struct {
	by   EndedBy
	diag Diagnostic
}

func spawnRefusal(code sys.Code, format string, args ...any) *refusal {
	return &refusal{BySpawnFailed, Diagnostic{Reason: ReasonSpawn, Code: string(code), Message: bounded(maxMessage, format, args...)}}
}

func policyRefusal(format string, args ...any) *refusal {
	return &refusal{ByPolicyDenied, Diagnostic{Reason: ReasonPolicy, Code: "policy_denied", Message: bounded(maxMessage, format, args...)}}
}

// maxMessage and maxSummary bound, in bytes, what a record repeats of a request.
const (
	maxMessage = 2048
	maxSummary = 255
)

// bounded formats a text and cuts it, at a character's boundary, to max bytes.
func bounded(max int, format string, args ...any) string {
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "\ufffd")
	if len(text) <= max {
		return text
	}
	const mark = "…"
	cut := max - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}

// refusalOf turns the error of a launcher or a look-up into a refusal.
func refusalOf(err error) *refusal {
	var se *sys.StartError
	var de *DetachError
	switch {
	case errors.As(err, &de):
		return spawnRefusal("detach_unavailable", "%v", de)
	case isScarce(err):
		return spawnRefusal(sys.CodeResourcesExhausted, "no file descriptor is left; end some jobs or raise the limit (%v)", err)
	case !errors.As(err, &se):
		return spawnRefusal(sys.CodeSpawn, "%v", err)
	case se.Code == sys.CodeChanged:
		return policyRefusal("%v", se)
	}
	no := spawnRefusal(se.Code, "%v", se)
	no.diag.Limits = se.Limits
	return no
}

// isScarce tells whether no file could be opened, whatever is in it.
func isScarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// prepare makes the checks of a run in the contract's order: cwd, executable,
// policy. A file system that does not answer costs checkBound and one of the
// places in s.checks, never the store.
func (s *Store) prepare(ctx context.Context, sp *Spec) (plan, *refusal) {
	type answer struct {
		plan plan
		no   *refusal
	}
	wait := s.checking.begin()
	defer s.checking.end(wait)
	late := func() (plan, *refusal) {
		return plan{}, spawnRefusal(sys.CodeStartTimeout,
			"%s: the file system did not answer within %v; nothing was started", sp.Command[0], checkBound)
	}
	select {
	case s.checks <- struct{}{}:
	case <-wait.late:
		return late()
	case <-ctx.Done():
		return late()
	}
	done := make(chan answer, 1)
	s.crew.Do(s.staying, func() {
		defer func() { <-s.checks }()
		p, no := s.check(sp)
		done <- answer{p, no}
	})
	select {
	case a := <-done:
		return a.plan, a.no
	case <-wait.late:
		return late()
	}
}

func (s *Store) check(sp *Spec) (plan, *refusal) {
	var p plan
	o := s.origin(sp)
	dir, no := o.workDir(sp.Dir)
	if no != nil {
		return p, no
	}
	p.dir, p.umask = dir, o.Umask
	env, path, hasPath := sp.Env.build(o.Base)
	p.env = env
	if sp.Shell {
		p.path, p.argv = sys.Shell(sp.line(), o.Base.ComSpec)
	} else {
		p.argv = sp.Command
	}
	if what, bad := nul(p.argv, p.env, ""); bad {
		return p, spawnRefusal(sys.CodeNulInArgument, "%s contains a NUL byte, which no process can receive", what)
	}
	if !sp.Shell {
		if !hasPath {
			path = DefaultPath
		}
		found, err := sys.FindExecutable(sp.Command[0], dir, path, o.Base.PathExt)
		if err != nil {
			return p, refusalOf(err)
		}
		p.path = found
	}
	return o.approve(p)
}

// approve asks the policy and remembers which file it approved.
func (o *Origin) approve(p plan) (plan, *refusal) {
	pol, err := o.policy()
	if isScarce(err) {
		return p, refusalOf(err) // nothing was decided
	}
	if err != nil {
		return p, policyRefusal("%s was refused because %v; allow it with: belfry policy allow %s",
			p.path, err, filepath.Base(p.path))
	}
	_, real, ok := pol.Approve(p.path)
	if !ok {
		return p, policyRefusal("%s is not in the allow list of the file named by %s; allow it with: belfry policy allow %s",
			p.path, o.Policy.Origin, filepath.Base(p.path))
	}
	// What is stamped and started is the file that was approved, by its real
	// path, not wherever a link leads by then. Its arguments stay as they are.
	if p.approved, err = sys.Stamp(real); err != nil {
		return p, spawnRefusal(sys.CodeNotFound, "%s cannot be read: %v", p.path, cause(err))
	}
	p.path = real
	return p, nil
}

// workDir gives the real path of the working directory that was asked for.
func (o *Origin) workDir(ask *string) (string, *refusal) {
	dir := o.Dir
	if dir == "" && (ask == nil || !filepath.IsAbs(*ask)) {
		return "", spawnRefusal(sys.CodeCwdMissing, "the server's own working directory is gone; pass an absolute cwd")
	}
	if ask != nil {
		switch {
		case *ask == "":
			return "", spawnRefusal(sys.CodeCwdMissing, "cwd is empty; leave it out to use the server's")
		case strings.IndexByte(*ask, 0) >= 0:
			return "", spawnRefusal(sys.CodeNulInArgument, "cwd contains a NUL byte, which no path can hold")
		}
		dir = sys.Absolute(*ask, o.Dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", cwdRefusal(dir, err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return "", cwdRefusal(dir, err)
	}
	if !st.IsDir() {
		return "", spawnRefusal(sys.CodeCwdNotDirectory, "cwd %s is not a directory", dir)
	}
	if !o.inRoots(real) {
		return "", spawnRefusal("cwd_outside_roots",
			"cwd %s lies outside the allowed roots; ask for one inside them or change BELFRY_CWD_ROOTS", real)
	}
	return real, nil
}

func cwdRefusal(dir string, err error) *refusal {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return spawnRefusal(sys.CodeCwdMissing, "cwd %s does not exist", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return spawnRefusal(sys.CodeCwdNotDirectory, "cwd %s leads through something that is not a directory", dir)
	case errors.Is(err, fs.ErrPermission):
		return spawnRefusal(sys.CodePermissionDenied, "cwd %s may not be entered", dir)
	}
	return spawnRefusal(sys.CodeCwdMissing, "cwd %s cannot be resolved: %v", dir, cause(err))
}

// inRoots reports whether a real path lies in a root. Roots that lead nowhere
// hold nothing, so that a typing error confines rather than frees.
func (o *Origin) inRoots(real string) bool {
	if len(o.Roots) == 0 {
		return true
	}
	for _, r := range o.Roots {
		root, err := filepath.EvalSymlinks(r)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// cause strips the call and path that a message already names.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
