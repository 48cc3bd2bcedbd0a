package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/belfry-dev/belfry/sys"
)

// maxPolicy is the largest policy file that is read, in bytes.
const maxPolicy = 1 << 20

// Policy is an immutable allow list. The zero value allows nothing.
type Policy struct {
	// Allow are the entries as written: bare names, looked up in the PATH of
	// the store, or absolute paths. One that leads to no executable allows
	// nothing.
	Allow []string

	path, pathext string
}

// ErrPolicyShape means that a policy file is not an object of exactly one key,
// "allow", holding an array of strings.
var ErrPolicyShape = errors.New(`must be a JSON object with the one key "allow", an array of strings`)

// ParsePolicy reads a policy. Bare names are looked up in path, a PATH of this
// system, with the executable suffixes pathext on Windows.
func ParsePolicy(text []byte, path, pathext string) (Policy, error) {
	allow, err := decodePolicy(text)
	if err != nil {
		return Policy{}, err
	}
	return Policy{Allow: allow, path: path, pathext: pathext}, nil
}

// decodePolicy takes keys exactly as they are written, unlike encoding/json's
// own matching, and refuses a repeated one.
func decodePolicy(text []byte) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, ErrPolicyShape
	}
	var allow []string
	seen := false
	for d.More() {
		key, err := d.Token()
		if err != nil || key != "allow" || seen {
			return nil, ErrPolicyShape
		}
		seen = true
		var list []any
		if err := d.Decode(&list); err != nil || list == nil {
			return nil, ErrPolicyShape
		}
		for _, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, ErrPolicyShape
			}
			allow = append(allow, s)
		}
	}
	if _, err := d.Token(); err != nil || !seen {
		return nil, ErrPolicyShape
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrPolicyShape
	}
	return allow, nil
}

const pathSeparators = "/" + string(filepath.Separator)

// Resolve gives the real path of what an entry names now. A relative path with
// a separator names nothing: it would mean another file in every folder.
func (p Policy) Resolve(entry string) (string, bool) {
	found, ok := p.find(entry)
	if !ok {
		return "", false
	}
	r, err := filepath.EvalSymlinks(found)
	return r, err == nil
}

// find gives the path of what an entry names now.
func (p Policy) find(entry string) (string, bool) {
	if entry == "" || (strings.ContainsAny(entry, pathSeparators) && !filepath.IsAbs(entry)) {
		return "", false
	}
	found, err := sys.FindExecutable(entry, string(filepath.Separator), p.path, p.pathext)
	return found, err == nil
}

// Decide tells whether the executable at path may run, and by which entry.
func (p Policy) Decide(path string) (entry string, ok bool) {
	entry, _, ok = p.Approve(path)
	return entry, ok
}

// Approve is Decide that also gives the real path on which it decided. Real
// paths are compared, so a link to an allowed program passes and a copy of it
// does not. What an entry leads to is read at the decision, never remembered.
// Entries of the candidate's own name come first: nearly always one of them
// decides, and the others need not be looked up.
func (p Policy) Approve(path string) (entry, real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", "", false
	}
	for _, named := range []bool{true, false} {
		for _, entry := range p.Allow {
			base := filepath.Base(entry)
			if named != (base == filepath.Base(path) || base == filepath.Base(real)) {
				continue
			}
			found, ok := p.find(entry)
			if !ok {
				continue
			}
			// The path that was asked for has been resolved just now.
			if now := real; found != path {
				if now, err = filepath.EvalSymlinks(found); err != nil || now != real {
					continue
				}
			}
			return entry, real, true
		}
	}
	return "", "", false
}

// PolicyFile is where a store finds its policy. The zero value denies all.
type PolicyFile struct {
	Path string
	// Origin names what pointed to the file (a variable, a flag, "the default
	// policy file"); it is shown in refusals, the path never is.
	Origin string
}

// ReadPolicyFile reads a policy file whole. It takes regular files of at most
// 1 MiB and waits for nothing: a pipe in the file's place is an error at once.
func ReadPolicyFile(path string) ([]byte, error) {
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	st, err := h.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(h, maxPolicy+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPolicy {
		return nil, fmt.Errorf("larger than %d bytes", maxPolicy)
	}
	return text, nil
}

// Load reads and parses the file. Its errors name the origin and the fault,
// never the path, so that they can be shown to whoever asked to run.
func (f PolicyFile) Load(path, pathext string) (Policy, error) {
	if f.Path == "" {
		return Policy{}, errors.New("no policy file is configured")
	}
	text, err := ReadPolicyFile(f.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Policy{}, fmt.Errorf("the file named by %s does not exist", f.Origin)
	case err != nil:
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return Policy{}, fmt.Errorf("the file named by %s cannot be read: %w", f.Origin, err)
	}
	p, err := ParsePolicy(text, path, pathext)
	if err != nil {
		return Policy{}, fmt.Errorf("the file named by %s %w", f.Origin, err)
	}
	return p, nil
}
