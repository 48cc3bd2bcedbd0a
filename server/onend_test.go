package server

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
)

// At the end of the input a run that was sent before it still runs, and a
// follow that waits does not keep the jobs alive: it is answered by their end.
func TestEndOfInputEndsTheJobs(t *testing.T) {
	th := newTheatre(t, nil, nil)
	srv, err := New(th.store, Options{OnEnd: func() { go th.store.Close(context.Background()) }})
	if err != nil {
		t.Fatal(err)
	}
	id := th.run("")
	c := connect(t, srv)
	for i := range 10 {
		c.post(fmt.Sprint(i), "follow", `{"job_id":"`+id+`","timeout_ms":3600000}`)
	}
	c.post("10", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
	c.in.Close()
	if m, text := c.content(c.reply("10")); m["job_id"] == nil {
		t.Errorf("a run before the end of the input: %s", text)
	}
	for i := range 10 {
		m, text := c.content(c.reply(fmt.Sprint(i)))
		if m["reason"] != "terminal" || m["ended_by"] != string(job.ByShutdown) {
			t.Errorf("follow: %s", text)
		}
	}
}

// A job that the server's own end ends wakes nobody: neither what it says
// meanwhile nor its end is news.
func TestShutdownWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := &door{name: "good", outcome: hostwake.Outcome{Result: hostwake.Delivered}}
		th := doored(t, nil, Options{Hosts: []hostwake.Transport{good}})
		c := connect(t, th.Server)
		c.post("1", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
		m, _ := c.content(c.reply("1"))
		id := m["job_id"].(string)
		p := th.stage.at(0)
		p.stubborn = true
		go th.store.Close(context.Background())
		for j, _ := th.store.Get(id); j.Snapshot().Ending == nil; {
			runtime.Gosched() // the clock stands while a real pipe is read
		}
		p.print(p.out, strings.Repeat("last words\n", 3))
		p.out.Close()
		p.err.Close()
		time.Sleep(time.Minute)
		if got := good.calls(); len(got) != 0 {
			t.Errorf("said %q", got)
		}
	})
}
