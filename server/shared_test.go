package server

import (
	"fmt"
	"io"
	"testing"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys/systest"
)

// Two clients of one server: each has its own policy and directory, both see
// all jobs, and only a job that was tied to its client ends with it.
func TestClientsShareJobs(t *testing.T) {
	th := newTheatre(t, nil, nil)
	origin := func(name string, allow ...string) *job.Origin {
		policy := job.PolicyFile{Path: systest.Policy(t, allow...), Origin: name + "'s file"}
		return &job.Origin{Client: name, Dir: t.TempDir(), Policy: policy}
	}
	a := connectAs(t, th.Server, Client{Origin: origin("north", th.tool)})
	b := connectAs(t, th.Server, Client{Origin: origin("south")})

	b.post("1", "run", fmt.Sprintf(`{"command":[%q]}`, th.tool))
	if m, text := b.content(b.reply("1")); m["state"] != "failed" || m["client"] != "south" {
		t.Errorf("a client's policy allows nothing: %s", text)
	}
	ids := map[string]string{}
	for i, more := range []string{"", `,"end_with_client":true`} {
		id := fmt.Sprint(2 + i)
		a.post(id, "run", fmt.Sprintf(`{"command":[%q]%s}`, th.tool, more))
		m, text := a.content(a.reply(id))
		if m["state"] == "failed" || m["client"] != "north" {
			t.Fatalf("run%s: %s", more, text)
		}
		ids[more], _ = m["job_id"].(string)
	}
	a.in.Close()
	_, _ = io.Copy(io.Discard, a.out)
	for more, id := range ids {
		j, ok := th.store.Get(id)
		if !ok {
			t.Fatalf("no job %s", id)
		}
		if more != "" {
			<-j.Done()
		}
		b.post("9", "status", fmt.Sprintf(`{"job_id":%q}`, id))
		m, text := b.content(b.reply("9"))
		if want := map[string]string{"": "running", `,"end_with_client":true`: "killed"}[more]; m["state"] != want {
			t.Errorf("after its client, a job with %q is %s, want %s", more, text, want)
		}
	}
}
