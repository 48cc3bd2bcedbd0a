package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// read gives the one element of a resource's contents.
func (c *client) read(id, uri, envelope string) map[string]any {
	c.t.Helper()
	r := c.ask(id, "resources/read", fmt.Sprintf(`"uri":%q`, uri), envelope)
	if envelope != "" && (r["ttlMs"] != 0.0 || r["cacheScope"] != "private") {
		c.t.Errorf("cache hints: %v", r)
	}
	list := r["contents"].([]any)
	if len(list) != 1 {
		c.t.Fatalf("%v", r)
	}
	m := list[0].(map[string]any)
	if m["uri"] != uri {
		c.t.Errorf("%s is %v", uri, m)
	}
	return m
}

func TestResources(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	p := th.stage.at(0)
	p.print(p.out, "one <1>\n")
	j, _ := th.store.Get(id)
	waitLines(t, j, 1)
	p.print(p.err, "two\n")
	waitLines(t, j, 2)
	p.print(p.out, "three")
	p.leave(0, 0)
	record := th.ended(id)
	c := connect(t, th.Server)
	c.open()
	base := "belfry://jobs/" + id
	for i, env := range []string{"", envelope} {
		m := c.read(fmt.Sprint(i), base, env)
		var got map[string]any
		if err := json.Unmarshal([]byte(m["text"].(string)), &got); err != nil || m["mimeType"] != "application/json" ||
			fmt.Sprint(got) != fmt.Sprint(record) {
			t.Errorf("the record is %v, status says %v", m, record)
		}
		for query, want := range map[string]string{
			"":                        "one <1>\ntwo\nthree",
			"?stream=both":            "one <1>\ntwo\nthree",
			"?stream=stdout":          "one <1>\nthree",
			"?stream=stderr&after=0":  "two\n",
			"?after=1":                "two\nthree",
			"?after=3":                "",
			"?after=99&stream=stdout": "",
		} {
			m := c.read(fmt.Sprintf("%q", fmt.Sprint(i)+query), base+"/output"+query, env)
			if m["text"] != want || m["mimeType"] != "text/plain" || m["_meta"].(map[string]any)["belfry/next_cursor"] == nil {
				t.Errorf("output%s is %v", query, m)
			}
		}
	}
	code := map[string]float64{"": -32002, envelope: -32602}
	n := 100
	for env, want := range code {
		for _, uri := range []string{"belfry://jobs/", "belfry://jobs/nope", base + "/", base + "?stream=both", base + "/output/", base + "/output?stream=x",
			base + "/output?after=-1", base + "/output?after=x", base + "/output?more=1", base + "/output?%zz", "file:///etc/passwd", ""} {
			n++
			e := c.refused(fmt.Sprint(n), "resources/read", fmt.Sprintf(`"uri":%q`, uri), env)
			if e["code"] != want || e["data"].(map[string]any)["uri"] != uri {
				t.Errorf("%q: %v", uri, e)
			}
		}
		n++
		if e := c.refused(fmt.Sprint(n), "resources/read", ``, env); e["code"] != -32602.0 {
			t.Errorf("no uri: %v", e)
		}
		n += 3
		list := c.ask(fmt.Sprint(n), "resources/list", "", env)
		templates := c.ask(fmt.Sprint(n+1), "resources/templates/list", "", env)
		if len(list["resources"].([]any)) != 0 || len(templates["resourceTemplates"].([]any)) != 2 {
			t.Errorf("lists: %v, %v", list, templates)
		}
		if env != "" && (templates["ttlMs"] != 3_600_000.0 || list["cacheScope"] != "public") {
			t.Errorf("cache hints: %v, %v", list, templates)
		}
		n++
		if e := c.refused(fmt.Sprint(n+1), "resources/list", `"cursor":"x"`, env); e["code"] != -32602.0 {
			t.Errorf("a cursor nobody gave: %v", e)
		}
	}
}

// Lines within 200 ms of each other make one update, and so do changes of the
// record; the end of the job is told at once.
func TestResourceUpdates(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t, nil, nil)
				id := th.run("")
				p := th.stage.at(0)
				c := connect(t, th.Server)
				record, output := "belfry://jobs/"+id, "belfry://jobs/"+id+"/output?stream=stderr"
				if era == "legacy" {
					c.open()
					for i, uri := range []string{record, output, output} {
						c.ask(fmt.Sprint(i), "resources/subscribe", fmt.Sprintf(`"uri":%q`, uri), "")
					}
					if e := c.refused("9", "resources/subscribe", `"uri":"belfry://jobs/nope"`, ""); e["code"] != -32002.0 {
						t.Errorf("an unknown resource: %v", e)
					}
				} else {
					c.write(`"s"`, "subscriptions/listen", fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q,%q,"belfry://jobs/nope"]}`, record, output), envelope)
					if ack := c.note(acknowledged); fmt.Sprint(ack["notifications"]) != "map[resourceSubscriptions:["+record+" "+output+"]]" {
						t.Errorf("acknowledged %v", ack)
					}
				}
				updated := func() string {
					n := c.note(resourceUpdated)
					if era == "modern" && subscription(n) != "s" {
						t.Errorf("told %v", n)
					}
					return n["uri"].(string)
				}
				start := time.Now()
				p.print(p.out, "on the other stream\n")
				p.print(p.err, "a\nb\n")
				p.out.Close() // else the reading of a real pipe holds the clock
				p.err.Close()
				if uri := updated(); uri != output || time.Since(start) != pushWindow {
					t.Errorf("%s after %v", uri, time.Since(start))
				}
				time.Sleep(time.Second)
				start = time.Now()
				p.leave(0, 0)
				both := map[string]bool{updated(): true, updated(): true}
				if !both[record] || !both[output] || time.Since(start) > pushWindow {
					t.Errorf("%v after %v", both, time.Since(start))
				}
				time.Sleep(time.Second)
				c.kept = nil
				if era == "legacy" {
					for i, uri := range []string{record, output, output} {
						c.ask(fmt.Sprint(20+i), "resources/unsubscribe", fmt.Sprintf(`"uri":%q`, uri), "")
					}
				} else {
					c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
				}
				synctest.Wait()
				if n := len(th.hub.watchers); n != 0 {
					t.Errorf("%d jobs are still watched", n)
				}
			})
		})
	}
}

// A connection may watch so many resources, and no more.
func TestResourceShare(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	c := connect(t, th.Server)
	c.open()
	uri := func(i int) string { return fmt.Sprintf(`"uri":"belfry://jobs/%s/output?after=%d"`, id, i) }
	for i := range maxResourcesWatched {
		c.ask(fmt.Sprint(i), "resources/subscribe", uri(i), "")
	}
	if e := c.refused(`"over"`, "resources/subscribe", uri(maxResourcesWatched), ""); e["code"] != -31011.0 {
		t.Errorf("one more: %v", e)
	}
	e := c.refused(`"listen"`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["belfry://jobs/`+id+`"]}`, envelope)
	if e["code"] != -31011.0 {
		t.Errorf("one more by a listen: %v", e)
	}
	c.ask(`"less"`, "resources/unsubscribe", uri(0), "")
	for i := 0; ; i++ {
		// The place is free when the watching goroutine has ended.
		c.write(fmt.Sprintf(`"again%d"`, i), "resources/subscribe", uri(0), "")
		if l := c.reply(fmt.Sprintf(`"again%d"`, i)); strings.Contains(l, `"result"`) {
			break
		} else if i == 10_000 {
			t.Fatal(l)
		}
	}
}
