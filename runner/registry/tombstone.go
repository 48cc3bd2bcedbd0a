package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

const (
	// endedDir is the subdirectory of tombstones; below it is a directory for
	// each minute in which a run ended, removed whole when its time is over.
	endedDir = "ended"
	// TombstoneLife is how long a tombstone stands, at least.
	TombstoneLife = 10 * time.Minute
)

// Tombstone is what is left of a run that ended.
type Tombstone struct {
	RunID   string
	EndedAt time.Time
	JSONL   string // absolute path of the event stream, or ""
	// CaptureDir is the absolute path of the folder of its transcripts, or "".
	CaptureDir string
	Outcome
}

// wireTombstone is a tombstone as it stands in its file.
type wireTombstone struct {
	Version   int     `json:"registry_version"`
	RunID     string  `json:"run_id"`
	EndedAt   string  `json:"ended_at"`
	JSONL     *string `json:"jsonl"`
	Capture   *string `json:"capture_dir"`
	Code      int     `json:"code"`
	Source    string  `json:"source"`
	ChildCode *int    `json:"child_code"`
}

// bury writes the tombstone of a run and clears away those whose time is over.
func (r *Registry) bury(stem string, rec Record, out Outcome) error {
	now := time.Now()
	data, err := marshal(wireTombstone{
		Version:   recordVersion,
		RunID:     rec.RunID,
		EndedAt:   FormatTime(now),
		JSONL:     null(rec.JSONL),
		Capture:   null(rec.CaptureDir),
		Code:      out.Code,
		Source:    out.Source,
		ChildCode: out.ChildCode,
	})
	if err != nil {
		return fmt.Errorf("write tombstone: %w", err)
	}
	bucket := filepath.Join(r.dir, endedDir, bucketOf(now))
	for range reserveTries { // another process may remove an empty directory in between
		err = os.MkdirAll(bucket, 0o700)
		if err == nil {
			err = sys.WriteWhole(filepath.Join(bucket, idPrefix(rec.RunID)+stem+recordSuffix), data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write tombstone: %w", err)
	}
	r.clearEnded(now)
	return nil
}

// Ended lists the tombstones of a run id, the latest end first: an id may have
// been used more than once. A registry that is not there has none.
func (r *Registry) Ended(id string) ([]Tombstone, error) {
	now := time.Now()
	var found []Tombstone
	buckets, err := r.buckets()
	for _, b := range buckets {
		dir := filepath.Join(r.dir, endedDir, b)
		names, rerr := os.ReadDir(dir)
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			return nil, fmt.Errorf("read tombstones: %w", rerr)
		}
		for _, d := range names {
			if !strings.HasPrefix(d.Name(), idPrefix(id)) || !strings.HasSuffix(d.Name(), recordSuffix) {
				continue
			}
			data, err := readBounded(filepath.Join(dir, d.Name()))
			if err != nil {
				continue // cleared away meanwhile, or nobody can tell
			}
			t, err := parseTombstone(data)
			if err == nil && t.RunID == id && now.Sub(t.EndedAt) <= TombstoneLife {
				found = append(found, t)
			}
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[j].EndedAt.Before(found[i].EndedAt) }) // see List
	return found, err
}

// Tombstone finds what the run of an entry left when it ended in order.
func (r *Registry) Tombstone(e Entry) (Tombstone, bool) {
	name := idPrefix(e.RunID) + filepath.Base(e.Path)
	buckets, _ := r.buckets() // none can be read: none is found
	for _, b := range buckets {
		data, err := readBounded(filepath.Join(r.dir, endedDir, b, name))
		if err != nil {
			continue
		}
		if t, err := parseTombstone(data); err == nil && t.RunID == e.RunID {
			return t, true
		}
	}
	return Tombstone{}, false
}

// clearEnded removes the minutes whose time is over, and the whole when nothing
// is left. Best effort: what stays is cleared away by the next one that ends.
func (r *Registry) clearEnded(now time.Time) {
	buckets, _ := r.buckets()
	oldest := now.Add(-TombstoneLife).Unix() / 60
	for _, b := range buckets {
		if minute, err := strconv.ParseInt(b, 10, 64); err == nil && minute < oldest {
			os.RemoveAll(filepath.Join(r.dir, endedDir, b))
		}
	}
	os.Remove(filepath.Join(r.dir, endedDir))
}

func (r *Registry) buckets() ([]string, error) {
	names, err := os.ReadDir(filepath.Join(r.dir, endedDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read tombstones: %w", err)
	}
	var found []string
	for _, d := range names {
		if _, err := strconv.ParseInt(d.Name(), 10, 64); err == nil && d.IsDir() {
			found = append(found, d.Name())
		}
	}
	return found, nil
}

func bucketOf(t time.Time) string { return strconv.FormatInt(t.Unix()/60, 10) }

// idPrefix is the beginning of the name of every tombstone of an id.
func idPrefix(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8]) + "-"
}

func parseTombstone(data []byte) (Tombstone, error) {
	var w wireTombstone
	if err := json.Unmarshal(data, &w); err != nil {
		return Tombstone{}, err
	}
	ended, err := ParseTime(w.EndedAt)
	if err != nil {
		return Tombstone{}, err
	}
	if w.Version != recordVersion {
		return Tombstone{}, fmt.Errorf("registry_version %d is not %d", w.Version, recordVersion)
	}
	return Tombstone{
		RunID:      w.RunID,
		EndedAt:    ended,
		JSONL:      text(w.JSONL),
		CaptureDir: text(w.Capture),
		Outcome:    Outcome{Code: w.Code, Source: w.Source, ChildCode: w.ChildCode},
	}, nil
}
