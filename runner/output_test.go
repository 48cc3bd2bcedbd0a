package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	// all-bytes writes every byte value, 1000 times over, to both streams.
	systest.Register("all-bytes", func([]string) int {
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			if _, err := f.Write(allBytes()); err != nil {
				return 1
			}
		}
		return 0
	})
	// bytes writes so many and ends, or, with stay behind it, stays.
	systest.Register("bytes", func(args []string) int {
		n, _ := strconv.Atoi(args[0])
		if _, err := os.Stdout.Write(bytes.Repeat([]byte{'x'}, n)); err != nil {
			return 1
		}
		if len(args) > 1 && args[1] == "stay" {
			select {}
		}
		return 0
	})
}

func allBytes() []byte {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	return bytes.Repeat(all[:], 1000)
}

func TestBytesPassUntouched(t *testing.T) {
	o := helper(t, "all-bytes")
	o.CaptureDir = filepath.Join(t.TempDir(), "new")
	r := do(t, o)
	sum := sha256.Sum256(allBytes())
	for name, echoed := range map[string]*bytes.Buffer{"stdout": &r.out, "stderr": &r.err} {
		if !bytes.Equal(echoed.Bytes(), allBytes()) {
			t.Errorf("%s: %d bytes were echoed otherwise", name, echoed.Len())
		}
		c := r.event(t, EventOutputCaptured)[name].(map[string]any)
		want(t, "hash", c["sha256"], any(hex.EncodeToString(sum[:])))
		want(t, "bytes", c["bytes"], any(float64(len(allBytes()))))
		want(t, "truncated", c["truncated"], any(false))
		held, err := os.ReadFile(c["path"].(string))
		if err != nil || !bytes.Equal(held, allBytes()) {
			t.Errorf("%s: the transcript differs, %v", name, err)
		}
	}
}

// The ceiling is exact: as many bytes are whole, one more is cut.
func TestCaptureCeiling(t *testing.T) {
	for n, cut := range map[int]bool{1024: false, 1025: true} {
		o := helper(t, "bytes", strconv.Itoa(n))
		o.CaptureDir, o.CaptureMax, o.NoEcho = t.TempDir(), 1024, true
		r := do(t, o)
		want(t, "echo", r.out.Len(), 0)
		c := r.event(t, EventOutputCaptured)["stdout"].(map[string]any)
		want(t, "truncated", c["truncated"], any(cut))
		want(t, "bytes", c["bytes"], any(float64(n)))
		held, _ := os.ReadFile(c["path"].(string))
		want(t, "held", len(held), 1024)
		sum := sha256.Sum256(held)
		want(t, "hash", c["sha256"], any(hex.EncodeToString(sum[:])))
	}
}

// Transcripts that are cut where nobody has named a ceiling are told, unless the
// stream of events tells it.
func TestCutIsTold(t *testing.T) {
	t.Parallel()
	const size = DefaultCapture + 5
	for _, c := range []struct {
		what   string
		change func(*Options)
		bytes  int
		told   string
	}{
		{"cut", func(o *Options) {}, size, fmt.Sprintf("only the first %d bytes were kept for stdout.log of %d; --capture-max-bytes keeps more", DefaultCapture, size)},
		{"whole", func(o *Options) {}, DefaultCapture, ""},
		{"a stream of events", func(o *Options) { o.JSONL = filepath.Join(t.TempDir(), "events.jsonl") }, size, ""},
		{"a ceiling", func(o *Options) { o.CaptureMax = 1000 }, size, ""},
		{"an end", func(o *Options) { o.CaptureCancel = true }, size, ""},
		{"no capture", func(o *Options) { o.CaptureDir = "" }, size, ""},
	} {
		o := helper(t, "bytes", strconv.Itoa(c.bytes))
		o.CaptureDir, o.NoEcho, o.JSONL = t.TempDir(), true, ""
		c.change(&o)
		want(t, c.what, strings.Join(do(t, o).warnings, "\n"), c.told)
	}
}

func TestOverflowEnds(t *testing.T) {
	o := helper(t, "bytes", "2000", "stay")
	o.CaptureDir, o.CaptureMax, o.CaptureCancel = t.TempDir(), 1024, true
	r := do(t, o)
	want(t, "code", r.Code, ExitOverflow)
	want(t, "stream", r.event(t, EventOutputOverflow)["stream"], any("stdout"))
	want(t, "echo is whole", r.out.Len(), 2000)
}

// A transcript that cannot be opened leaves the other as it was.
func TestCaptureAllOrNothing(t *testing.T) {
	for _, old := range []bool{true, false} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "stderr.log"), 0o700); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "stdout.log")
		if old {
			if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := openCapture(dir, 1, t.Logf); err == nil {
			t.Fatal("a folder is a transcript")
		}
		got, err := os.ReadFile(out)
		if old && string(got) != "old" || !old && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("old %v: %q, %v", old, got, err)
		}
	}
}

// failing is a consumer that goes away after some bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.left {
		return f.left, errors.New("gone")
	}
	f.left -= len(b)
	return len(b), nil
}

// A consumer that is gone is not the child's concern, nor the transcript's.
func TestBrokenEcho(t *testing.T) {
	o := helper(t, "bytes", "1000000")
	o.CaptureDir = t.TempDir()
	for name, out := range map[string]struct {
		io.Writer
		told int
	}{"fails": {&failing{left: 10}, 1}, "is gone": {unread(t), 0}} {
		r := &result{}
		o.Stdout, o.Stderr = out.Writer, &failing{}
		o.Warn = func(text string) { r.warnings = append(r.warnings, text) }
		want(t, "code", Run(t.Context(), o).Code, 0)
		held, _ := os.ReadFile(filepath.Join(o.CaptureDir, "stdout.log"))
		want(t, "captured", len(held), 1000000)
		if len(r.warnings) != out.told || out.told > 0 && !strings.Contains(r.warnings[0], "our standard output") {
			t.Errorf("%s: %q", name, r.warnings)
		}
	}
}

// unread is a pipe whose reader is gone.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// A disk that takes no more ends the transcript; the hash is over what it holds.
func TestCaptureWriteError(t *testing.T) {
	var told []string
	c, err := openCapture(t.TempDir(), 100, func(format string, args ...any) {
		told = append(told, fmt.Sprintf(format, args...))
	})
	if err != nil {
		t.Fatal(err)
	}
	c.stdout.write([]byte("held"))
	c.stdout.f.Close() // the next write fails
	c.stdout.write([]byte("lost"))
	c.stdout.write([]byte("too"))
	got := c.result().Stdout
	sum := sha256.Sum256([]byte("held"))
	want(t, "entry", got, Captured{Path: got.Path, Bytes: 11, SHA256: hex.EncodeToString(sum[:]), WriteError: true})
	if len(told) != 1 || !strings.Contains(told[0], "stdout.log") {
		t.Errorf("told %q", told)
	}
}

func TestFingerprint(t *testing.T) {
	if Fingerprint([]string{"p", "x\xff"}) == Fingerprint([]string{"p", "x\xfe"}) {
		t.Error("one invalid byte makes no difference")
	}
	want(t, "joined by NUL", Fingerprint([]string{"a b"}) == Fingerprint([]string{"a", "b"}), false)
	want(t, "raw text", rawArg("plain\\"), "plain\\")
	want(t, "raw bytes", rawArg("a\\\xff"), "\x00a\\\\\\xff")
	hint := []string{"dotnet", "MSBUILD.dll", "/nodeMode:1", "/nodereuse:TRUE"}
	want(t, "hint", hintOf(hint), "msbuild_node_reuse")
	want(t, "no hint", hintOf(hint[:3]), "")
	c := commandOf([]string{"p", "s3cret"}, false)
	if !c.Redacted || c.Argv != nil || strings.Contains(fmt.Sprint(c), "s3cret") {
		t.Errorf("%+v", c)
	}
}

func TestStdin(t *testing.T) {
	want(t, "nothing", do(t, helper(t, "cat")).out.String(), "")
	o := helper(t, "cat")
	o.Input, o.InFile = InputFile, filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(o.InFile, allBytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "a file", do(t, o).out.String(), string(allBytes()))
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := w.WriteString("ours"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	o = helper(t, "cat")
	o.Input, o.Stdin = InputInherit, in
	want(t, "ours", do(t, o).out.String(), "ours")
}
