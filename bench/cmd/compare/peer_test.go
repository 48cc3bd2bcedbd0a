package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is another server of the same tools, as one might write it: lines in a
// slice, a mutex around all, answers as text alone, a wait of a follow cut short.
type peer struct {
	mu   sync.Mutex
	jobs map[string]*peerJob
	out  *json.Encoder
	said sync.Mutex // around out
}

type peerJob struct {
	cmd   *exec.Cmd
	lines []string
	state string
	code  *int
	news  chan struct{} // closed and made anew at each change
}

const peerWait = 50 * time.Millisecond

// playPeer serves until its input ends; with "stays" it does not end then, with
// "rude" it ends with a code of its own.
func playPeer(args []string) int {
	p := &peer{jobs: map[string]*peerJob{}, out: json.NewEncoder(os.Stdout)}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct {
					Command   []string
					JobID     string `json:"job_id"`
					Cursor    int
					TimeoutMS int `json:"timeout_ms"`
				}
			}
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return 4
		}
		a := m.Params.Arguments
		switch {
		case m.Method == "initialize":
			p.reply(m.ID, map[string]any{"protocolVersion": "2024-11-05", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "peer", "version": "0"}})
		case m.ID == nil:
		default:
			go func() {
				var r map[string]any
				switch m.Params.Name {
				case "run":
					r = p.run(a.Command)
				case "follow":
					r = p.follow(a.JobID, a.Cursor)
				case "kill":
					r = p.kill(a.JobID)
				case "list":
					r = map[string]any{"jobs": []any{}}
				}
				text, _ := json.Marshal(r) // strings and numbers
				p.reply(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}, "isError": r == nil})
			}()
		}
	}
	word := strings.Join(args, " ")
	if word == "stays" {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt)
		<-stop
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.state == "running" {
			_ = j.cmd.Process.Kill() // Best effort: it may be over.
		}
	}
	if word == "rude" {
		return 3
	}
	return 0
}

func (p *peer) reply(id json.RawMessage, result any) {
	p.said.Lock()
	defer p.said.Unlock()
	if err := p.out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result}); err != nil {
		os.Exit(5)
	}
}

func (p *peer) run(argv []string) map[string]any {
	j := &peerJob{cmd: exec.Command(argv[0], argv[1:]...), state: "running", news: make(chan struct{})}
	out, err := j.cmd.StdoutPipe()
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := strconv.Itoa(len(p.jobs))
	p.jobs[id] = j
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.change(j, func() { j.lines = append(j.lines, s.Text()) })
		}
		_ = j.cmd.Wait() // what it says is in ProcessState
		p.change(j, func() {
			j.state = "killed"
			if code := j.cmd.ProcessState.ExitCode(); code >= 0 {
				j.state, j.code = "exited", &code
			}
		})
	}()
	return map[string]any{"job_id": id, "state": j.state}
}

func (p *peer) change(j *peerJob, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(j.news)
	j.news = make(chan struct{})
}

func (p *peer) follow(id string, cursor int) map[string]any {
	late := time.After(peerWait)
	for reason := ""; ; {
		p.mu.Lock()
		j := p.jobs[id]
		first := min(cursor, len(j.lines))
		events := []any{}
		for i, l := range j.lines[first:] {
			events = append(events, map[string]any{"seq": first + i + 1, "stream": "stdout", "text": l})
		}
		switch {
		case j.state != "running":
			reason = "terminal"
		case len(events) > 0:
			reason = "output"
		}
		r := map[string]any{"job_id": id, "state": j.state, "exit_code": j.code, "reason": reason, "events": events, "next_cursor": max(cursor, len(j.lines))}
		news := j.news
		p.mu.Unlock()
		if reason != "" {
			return r
		}
		select {
		case <-news:
		case <-late:
			reason = "timeout"
		}
	}
}

func (p *peer) kill(id string) map[string]any {
	p.mu.Lock()
	j := p.jobs[id]
	p.mu.Unlock()
	_ = j.cmd.Process.Kill() // Best effort: it may be over.
	for {
		p.mu.Lock()
		state, news := j.state, j.news
		p.mu.Unlock()
		if state != "running" {
			return map[string]any{"job_id": id, "state": state}
		}
		<-news
	}
}

func peerServer(t *testing.T, words ...string) server {
	t.Helper()
	argv, err := roleArgv(append([]string{"peer"}, words...)...)
	if err != nil {
		t.Fatal(err)
	}
	return server{"peer", "'" + strings.Join(argv, "' '") + "'"}
}

// TestPeer measures another server in every section that has other servers in it.
func TestPeer(t *testing.T) {
	for _, name := range []string{"true", "sleep"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	p := &report{servers: []server{peerServer(t)}, rounds: 2, say: t.Logf}
	p.servers[0].name = "belfry" // the first is what the others are measured by
	p.servers = append(p.servers, peerServer(t, "rude"))
	for _, do := range []func() error{p.follow, p.runs, p.kills, p.starts} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range p.tables {
		for _, side := range []string{"belfry", "peer"} {
			if r, measured := table.row(side); !measured || r.best <= 0 {
				t.Errorf("%s, %s: %+v", table.key, side, r)
			}
		}
	}
	for _, l := range []load{{64_000 * 20, 64_000, 1}, {80 * 500, 80, 1}, {64_000, 64_000, 4}} {
		g := &ingest{load: l, dir: t.TempDir(), servers: p.servers, sessions: map[string]*session{}}
		s, err := g.measure("peer")
		if err != nil || s.took <= 0 || s.bytes != int64(l.bytes*l.jobs) {
			t.Errorf("%+v: %+v %v", l, s, err)
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPeerThatStays: a server that does not end is killed, and that is told.
func TestPeerThatStays(t *testing.T) {
	x, err := peerServer(t, "stays").open()
	if err != nil {
		t.Fatal(err)
	}
	x.patience = 100 * time.Millisecond
	if err := x.end(); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("%v", err)
	}
	if err := x.Process().Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("it is still there: %v", err)
	}
}
