package detach

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// reader reads a journal while it is written.
type reader struct {
	dir    string
	to     job.Replica
	f      *os.File // nil before the first file and after the last
	number int
	known  bool   // what the file begins with has been told by the one before
	buf    []byte // read and not yet told
	led    bool   // the file has led to the next
}

// maxFile is more than any file of a journal has, in bytes: what it grows by, the
// frame that comes then, and what it begins with.
const maxFile = growth + 2*maxFrame

// readSize is how much is read at once.
const readSize = 64 << 10

// drain tells all that is there. over: nothing can follow.
func (r *reader) drain() (over bool, err error) {
	for {
		if r.f == nil {
			if opened, err := r.open(); err != nil || !opened {
				return false, err
			}
		}
		over, err := r.file()
		if over || err != nil {
			r.close()
			return over, err
		}
		// The file is read to its end, perhaps amid a frame. It goes on in the
		// next one if there is one: what was written meanwhile is read first.
		newer, err := newest(r.dir)
		if err != nil || newer <= r.number {
			return false, err
		}
		if over, err := r.file(); over || err != nil {
			r.close()
			return over, err
		}
		r.known = r.led && len(r.buf) == 0
		r.close()
	}
}

// open opens the file after the one that was told, or the newest.
func (r *reader) open() (bool, error) {
	want := r.number + 1
	if !r.known {
		n, err := newest(r.dir)
		if err != nil || n == 0 {
			return false, err
		}
		want = n
	}
	f, err := sys.OpenShared(journalPath(r.dir, want))
	if errors.Is(err, fs.ErrNotExist) && r.known {
		r.known = false // too far behind: begin again with what is kept
		return r.open()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a newer one has just taken its place; there will be word of it
	}
	if err != nil {
		return false, fmt.Errorf("read journal: %w", err)
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() > maxFile {
		err = fmt.Errorf("%w: it is larger than any", errFrame)
	}
	if err != nil {
		f.Close()
		return false, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	r.f, r.number, r.led, r.buf = f, want, false, r.buf[:0]
	return true, nil
}

// file tells what the open file has beyond what was told.
func (r *reader) file() (over bool, err error) {
	for {
		at := len(r.buf)
		r.buf = append(r.buf, make([]byte, readSize)...)
		n, err := r.f.Read(r.buf[at:])
		r.buf = r.buf[:at+n]
		if err != nil && err != io.EOF {
			return false, fmt.Errorf("read journal: %w", err)
		}
		ended := err == io.EOF
		over, err := r.frames()
		if err != nil {
			err = fmt.Errorf("read %s: %w", r.f.Name(), err)
		}
		if over || err != nil || ended {
			if len(r.buf) == 0 && cap(r.buf) > 4*readSize {
				r.buf = nil // it was for what a file begins with
			}
			return over, err
		}
	}
}

// frames tells the whole frames that were read.
func (r *reader) frames() (over bool, err error) {
	rest := r.buf
	defer func() { r.buf = append(r.buf[:0], rest...) }()
	for !over && err == nil {
		f, n, perr := parseFrame(rest)
		if perr != nil || n == 0 {
			return false, perr
		}
		over, err = r.tell(f)
		rest = rest[n:]
	}
	return over, err
}

func (r *reader) tell(f frame) (over bool, err error) {
	switch f.kind {
	case frameFormat:
		if string(f.body) != format {
			return false, fmt.Errorf("its format %.20q is that of another version of belfry", f.body)
		}
	case frameSaved:
		if !r.known {
			err = r.to.Restore(bytes.NewReader(f.body))
		}
	case frameRecord:
		var s job.Snapshot
		if err = json.Unmarshal(f.body, &s); err == nil {
			r.to.Record(s)
		}
	case frameOut:
		r.to.Output(job.Stdout, f.at, f.body)
	case frameErr:
		r.to.Output(job.Stderr, f.at, f.body)
	case frameFinishOut:
		r.to.Finish(job.Stdout, f.at)
	case frameFinishErr:
		r.to.Finish(job.Stderr, f.at)
	case frameNext:
		r.led = true
	case frameEnd:
		over = true
	}
	return over, err
}

func (r *reader) close() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// journalPrefix begins the names of a journal's files.
const journalPrefix = "journal."

// maxNumber is more than any file of a journal has.
const maxNumber = 1 << 30

// newest is the highest number of a journal's files; 0 when there is none.
func newest(dir string) (int, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("read journal: %w", err)
	}
	top := 0
	for _, d := range names {
		digits, ok := strings.CutPrefix(d.Name(), journalPrefix)
		if n, err := strconv.Atoi(digits); ok && err == nil && n < maxNumber {
			top = max(top, n)
		}
	}
	return top, nil
}
