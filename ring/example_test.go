package ring_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/belfry-dev/belfry/ring"
)

// pump reads r into a stream until its end.
func pump(r io.Reader, s *ring.Stream) {
	for {
		n, err := r.Read(s.Space())
		s.Commit(n)
		if err != nil {
			s.Finish()
			return
		}
	}
}

func Example() {
	j := ring.NewJob(ring.Limits{}, nil)
	pump(strings.NewReader("building\r\ntesting\nno newline"), j.Stream(ring.Stdout))
	for _, l := range j.After(0, ring.SelBoth, 0, 0).Lines {
		fmt.Println(l.Seq, l.Kind, l.Term, l.Text)
	}
	// Output:
	// 1 stdout newline building
	// 2 stdout newline testing
	// 3 stdout end no newline
}

func ExampleJob_After() {
	j := ring.NewJob(ring.Limits{Lines: 4}, nil)
	pump(strings.NewReader("a\nb\nc\nd\ne\n"), j.Stream(ring.Stdout))
	var cur uint64
	for {
		p := j.After(cur, ring.SelStdout, 3, 0)
		for _, l := range p.Lines {
			fmt.Print(l.Text, " ")
		}
		fmt.Printf("next %d, dropped %d before %d\n", p.Next, p.Loss[ring.Stdout].Dropped, p.Loss[ring.Stdout].FirstKept)
		if cur = p.Next; !p.More {
			break
		}
	}
	// Output:
	// b c d next 4, dropped 1 before 2
	// e next 5, dropped 1 before 2
}

func ExampleJob_Await() {
	j := ring.NewJob(ring.Limits{}, nil)
	go pump(strings.NewReader("ready\n"), j.Stream(ring.Stdout))
	err := j.Await(context.Background(), func() bool { return j.Head(ring.SelStdout) > 0 })
	fmt.Println(err, j.Tail(1, ring.SelStdout, 0).Lines[0].Text)
	// Output: <nil> ready
}
