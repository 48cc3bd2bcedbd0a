package server

import (
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/server/wire"
)

// BenchmarkCalls is what the tools that compute and return cost without a
// connection around them.
func BenchmarkCalls(b *testing.B) {
	th := newTheatre(b, nil, nil)
	id := th.run("")
	p := th.stage.at(0)
	p.print(p.out, strings.Repeat("a line of an ordinary length, as compilers print them\n", 50))
	j, _ := th.store.Get(id)
	waitLines(b, j, 50)
	for _, tool := range []string{"status", "list", "output", "tail", "follow"} {
		b.Run(tool, func(b *testing.B) {
			args := `{"job_id":"` + id + `","cursor":0,"after_cursor":40,"lines":10}`
			row := th.row(tool)
			conn := &wire.Conn{}
			b.ReportAllocs()
			for b.Loop() {
				if r := serve(b.Context(), row, &wire.Call{Arguments: []byte(args), Conn: conn}); r.IsError {
					b.Fatal(r.Text)
				}
			}
		})
	}
}
