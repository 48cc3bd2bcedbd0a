package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/ring"
)

// wire is the reply that server makes of a page, for both streams.
type wireLine struct {
	Seq       uint64 `json:"seq"`
	Stream    string `json:"stream"`
	Text      string `json:"text"`
	Partial   bool   `json:"partial,omitempty"`
	Clipped   bool   `json:"clipped,omitempty"`
	TextBytes int    `json:"text_bytes,omitempty"`
	Time      string `json:"time,omitempty"`
}

func compact(t testing.TB, v any) int {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Len() - 1
}

func wireOf(l Line) wireLine {
	w := wireLine{Seq: l.Seq, Stream: "stdout", Text: l.Text, Partial: l.Partial, Clipped: l.Clipped, TextBytes: l.TextBytes}
	if !l.Time.IsZero() {
		w.Time = l.Time.Format("2006-01-02T15:04:05.000Z")
	}
	return w
}

func replySize(t testing.TB, p Page) int {
	t.Helper()
	m := map[string]any{"next_cursor": p.Next}
	lines := []wireLine{}
	for _, l := range p.Lines {
		lines = append(lines, wireOf(l))
	}
	m["events"] = lines
	if p.Truncated {
		m["truncated"] = true
	}
	dropped, pending := map[string]any{}, map[string]string{}
	for i, name := range []string{"stdout", "stderr"} {
		if p.Loss[i].Dropped > 0 {
			dropped[name] = map[string]uint64{"dropped": p.Loss[i].Dropped, "droppedBeforeCursor": p.Loss[i].FirstKept}
		}
		if p.Pending[i] != "" {
			pending[name] = p.Pending[i]
		}
	}
	if len(dropped) > 0 {
		m["dropped"] = dropped
	}
	if len(pending) > 0 {
		m["pending"] = pending
	}
	return compact(t, m)
}

func FuzzJSONLen(f *testing.F) {
	f.Add("plain")
	f.Add("q\"b\\n\n\r\t\b\f\x00\x1f\x7f<>&\u2028é漢😀\ufffd")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd") // the ring gives nothing else
		if got, want := jsonLen(s), compact(t, s); got != want {
			t.Errorf("%q: %d, encoded %d", s, got, want)
		}
		for _, n := range []int{0, 1, 5, 64} {
			for _, cut := range []string{firstFitting(s, n), lastFitting(s, n)} {
				if jsonLen(cut)-2 > n || !utf8.ValidString(cut) {
					t.Errorf("%q cut to %d: %q", s, n, cut)
				}
			}
		}
	})
}

func TestLineCost(t *testing.T) {
	for _, l := range []Line{
		{Seq: 1, Text: ""},
		{Seq: 123456, Text: "a\tb", Partial: true},
		{Seq: 9, Text: "é", Clipped: true, TextBytes: 1000, Time: time.Unix(1, 5e6).UTC()},
	} {
		if got, want := l.cost(), compact(t, wireOf(l))+1; got != want {
			t.Errorf("%+v: %d, encoded %d", l, got, want)
		}
	}
}

// said is a job whose streams said these bytes and go on.
func said(t *testing.T, out, err string) *Job {
	t.Helper()
	j := &Job{done: make(chan struct{})}
	j.ring.Store(ring.NewJob(ring.DefaultLimits, nil))
	for k, text := range []string{out, err} {
		s := j.out().Stream(ring.Kind(k))
		for text != "" {
			n := copy(s.Space(), text)
			s.Commit(n)
			text = text[n:]
		}
	}
	return j
}

// Reading on by next_cursor gives every line once, whatever the budget.
func TestBudgetPaging(t *testing.T) {
	var in strings.Builder
	for i := range 500 {
		fmt.Fprintf(&in, "%d %s\n", i, strings.Repeat("\"é", i%60))
	}
	for _, budget := range []int{1, MinBudget, 700, 4096, DefaultBudget, MaxBudget + 1} {
		for _, stamps := range []bool{false, true} {
			j := said(t, in.String(), "")
			var got []string
			q := Query{Budget: budget, Timestamps: stamps}
			for {
				p := j.Output(q)
				if size := replySize(t, p); size > max(budget, MinBudget) {
					t.Fatalf("budget %d: reply of %d bytes", budget, size)
				}
				for _, l := range p.Lines {
					if l.Clipped {
						t.Fatalf("budget %d: clipped a line of %d bytes", budget, l.TextBytes)
					}
					got = append(got, l.Text)
				}
				q.After = p.Next
				if !p.Truncated {
					break
				}
			}
			if strings.Join(got, "\n")+"\n" != in.String() {
				t.Fatalf("budget %d: lines lost or repeated (%d of 500)", budget, len(got))
			}
		}
	}
}

func TestClippedLine(t *testing.T) {
	long := strings.Repeat("漢", 5000)
	j := said(t, "before\n"+long+"\nafter\n", "")
	p := j.Output(Query{After: 1, Budget: MinBudget})
	if len(p.Lines) != 1 || !p.Lines[0].Clipped || p.Lines[0].TextBytes != len(long) ||
		!strings.HasPrefix(long, p.Lines[0].Text) || p.Lines[0].Text == "" {
		t.Fatalf("page: %+v", p)
	}
	want(t, "next", p.Next, 2)
	want(t, "truncated", p.Truncated, true)
	if size := replySize(t, p); size > MinBudget || size < MinBudget-16 {
		t.Errorf("reply of %d bytes in a budget of %d", size, MinBudget)
	}
	p = j.Output(Query{After: p.Next, Budget: MinBudget})
	want(t, "then", p.Lines[0].Text, "after")
	want(t, "truncated at the end", p.Truncated, false)

	j = said(t, "before\n"+long+"\n", "")
	p = j.Tail(2, Query{Budget: MinBudget})
	if len(p.Lines) != 1 || p.Lines[0].Seq != 2 || !p.Lines[0].Clipped || !p.Truncated {
		t.Errorf("tail: %+v", p)
	}
	// Without room at all a reply still makes progress.
	p = j.Output(Query{After: 1, Budget: MinBudget, Used: 2 * MinBudget})
	if len(p.Lines) != 1 || p.Lines[0].Text == "" {
		t.Errorf("page without room: %+v", p)
	}
}

func TestTailKeepsTheNewest(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, "line %d\n", i)
	}
	j := said(t, in.String(), "")
	p := j.Tail(1000, Query{Budget: 2048})
	want(t, "last", p.Lines[len(p.Lines)-1].Text, "line 999")
	want(t, "truncated", p.Truncated, true)
	want(t, "next", p.Next, 1000)
	if size := replySize(t, p); size > 2048 || size < 1900 {
		t.Errorf("reply of %d bytes", size)
	}
	p = j.Tail(1000, Query{Budget: MaxBudget})
	want(t, "all", len(p.Lines), 1000)
	want(t, "whole", p.Truncated, false)
	want(t, "window", j.Tail(3, Query{}).Truncated, true)
}

func TestPendingText(t *testing.T) {
	j := said(t, "whole\nPassword: ", "50%")
	p := j.Output(Query{})
	want(t, "not asked for", p.Pending, [2]string{})
	p = j.Output(Query{Pending: true})
	want(t, "asked for", p.Pending, [2]string{"Password: ", "50%"})
	want(t, "lines", len(p.Lines), 1)
	p = j.Output(Query{Pending: true, Sel: ring.SelStderr})
	want(t, "one stream", p.Pending, [2]string{"", "50%"})
	j = said(t, strings.Repeat("x", 100_000)+"end", "")
	p = j.Output(Query{Pending: true, Budget: 1024})
	if !strings.HasSuffix(p.Pending[0], "xend") || replySize(t, p) > 1024 {
		t.Errorf("long pending text: %d bytes", len(p.Pending[0]))
	}
}
