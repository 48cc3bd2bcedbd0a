package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// TestTranscripts plays conversations. In a transcript
//
//	> LINE        is sent; ENVELOPE, TOOL and JOB1... stand for what they name
//	! N VERB ...  moves the n-th started job: out TEXT, err TEXT, exit CODE, die SIGNAL
//	< LINE        is the reply to the request before it, times and ids taken out
//	# ...         says what it is about
//
// and -update writes the replies anew. Whether run shows its job starting or
// running is a matter of luck: its replies say UP.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.HasSuffix(file, "errors.txt") {
				t.Skip("it names paths of Unix")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			slots := 2
			th := newTheatre(t, nil, func(c *job.Config) { c.MaxRunning, c.MaxQueue = &slots, new(int) })
			play := &transcript{theatre: th, c: connect(t, th.Server)}
			var out strings.Builder
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "< ") {
					continue
				}
				out.WriteString(line)
				line = strings.TrimSuffix(line, "\n")
				switch {
				case strings.HasPrefix(line, "> "):
					for _, reply := range play.send(line[2:]) {
						fmt.Fprintf(&out, "< %s\n", reply)
					}
				case strings.HasPrefix(line, "! "):
					play.move(line[2:])
				}
			}
			golden(t, filepath.Join("transcripts", filepath.Base(file)), []byte(out.String()))
		})
	}
}

type transcript struct {
	*theatre
	c   *client
	ids []string
}

// send sends a request and gives what came until its reply, the reply last.
func (p *transcript) send(line string) []string {
	line = strings.ReplaceAll(line, `"ENVELOPE":0`, envelope)
	tool, _ := json.Marshal(p.tool)
	line = strings.ReplaceAll(line, "TOOL", string(tool))
	for i, id := range p.ids {
		line = strings.ReplaceAll(line, "JOB"+strconv.Itoa(i+1), id)
	}
	sub := p.store.Subscribe(64)
	defer sub.Close()
	p.c.send(line)
	var m struct{ ID json.RawMessage }
	if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil {
		return nil // a notification has no reply
	}
	reply := p.c.reply(string(m.ID))
	got := append(p.c.kept, reply)
	p.c.kept = nil
	for i := range got {
		got[i] = p.plain(got[i])
	}
	if strings.Contains(line, `"name":"run"`) {
		got[len(got)-1] = starts.ReplaceAllStringFunc(got[len(got)-1], startOf)
		for _, id := range p.ids {
			p.settle(id, sub)
		}
	}
	return got
}

// startOf takes out how far a start has come.
func startOf(s string) string {
	if strings.HasPrefix(s, ",") {
		return ""
	}
	return "UP"
}

// settle waits until a job has left the state in which run may show it.
func (p *transcript) settle(id string, sub *job.Subscription) {
	j, _ := p.store.Get(id)
	for j.Snapshot().State == job.Starting {
		<-sub.C
	}
}

var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	starts    = regexp.MustCompile(`starting|running|,\\?"identity_capture\\?":\\?"captured\\?",\\?"spawned_at\\?":\\?"TIME\\?"`)
	durations = regexp.MustCompile(`(duration_ms\\?":)\d+`)
)

// plain takes out what differs from run to run.
func (p *transcript) plain(line string) string {
	line = uuids.ReplaceAllStringFunc(line, func(id string) string {
		for i, known := range p.ids {
			if known == id {
				return "JOB" + strconv.Itoa(i+1)
			}
		}
		p.ids = append(p.ids, id)
		return "JOB" + strconv.Itoa(len(p.ids))
	})
	line = times.ReplaceAllString(line, "TIME")
	line = durations.ReplaceAllString(line, "${1}0")
	return strings.ReplaceAll(line, filepath.Dir(p.tool), "DIR")
}

// move moves a puppet, and waits until the job has seen it.
func (p *transcript) move(order string) {
	p.t.Helper()
	w := strings.SplitN(order, " ", 3)
	n, err := strconv.Atoi(w[0])
	if err != nil || len(w) != 3 {
		p.t.Fatalf("what is %q", order)
	}
	j, _ := p.store.Get(p.ids[n-1])
	puppet := p.stage.at(n - 1)
	switch w[1] {
	case "out", "err":
		stream, kind := puppet.out, job.Stdout
		if w[1] == "err" {
			stream, kind = puppet.err, job.Stderr
		}
		text, err := strconv.Unquote(w[2])
		if err != nil {
			p.t.Fatalf("%v in %q", err, order)
		}
		lines := j.Head(job.SelBoth) + uint64(strings.Count(text, "\n"))
		puppet.print(stream, text)
		waitLines(p.t, j, lines)
		for !strings.HasSuffix(text, "\n") && j.Snapshot().Counts[kind].Pending == 0 {
			time.Sleep(time.Millisecond) // a fragment is no event
		}
	case "exit":
		code, _ := strconv.Atoi(w[2])
		puppet.leave(code, 0)
		<-j.Done()
	case "die":
		sig, err := sys.ParseSignal(w[2])
		if err != nil {
			p.t.Fatal(err)
		}
		puppet.leave(0, sig)
		<-j.Done()
	default:
		p.t.Fatalf("what is %q", order)
	}
}
