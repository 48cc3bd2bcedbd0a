package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("alternate", alternate) }

// alternate writes so many numbered lines to standard output and standard error
// in turns, so many in a row to each and so long apart.
func alternate(args []string) int {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[i]); err != nil {
			return 2
		}
	}
	count, burst, apart := n[0], n[1], time.Duration(n[2])
	for i := range count {
		to := os.Stdout
		if i/burst%2 == 1 {
			to = os.Stderr
		}
		if _, err := to.Write(append(strconv.AppendInt(nil, int64(i), 10), '\n')); err != nil {
			return 1
		}
		// Far shorter than what a timer can do.
		for until := time.Now().Add(apart); time.Now().Before(until); {
		}
	}
	return 0
}

// BenchmarkOrder tells how many lines of two pipes are taken for later than one
// that was written after them. The kernel keeps no order between pipes: what was
// in both when they were read has none.
func BenchmarkOrder(b *testing.B) {
	const lines = 2000
	argv := helperArgv("alternate")
	s := storeFor(b, argv[0], job.Config{})
	for _, burst := range []int{1, 5} {
		for _, apart := range []time.Duration{0, 20 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
			b.Run(fmt.Sprintf("burst=%d/apart=%v", burst, apart), func(b *testing.B) {
				late, all := 0, 0
				for b.Loop() {
					words := append(slices.Clone(argv), fmt.Sprint(lines), fmt.Sprint(burst), fmt.Sprint(apart.Nanoseconds()))
					j, err := s.Run(context.Background(), job.Spec{Command: words})
					if err != nil {
						b.Fatal(err)
					}
					<-j.Done()
					highest := -1
					for _, l := range j.Output(job.Query{Sel: ring.SelBoth, Budget: 16 << 20}).Lines {
						n, err := strconv.Atoi(l.Text)
						if err != nil {
							b.Fatal(err)
						}
						if all++; n < highest {
							late++
						}
						highest = max(highest, n)
					}
				}
				b.ReportMetric(100*float64(late)/float64(all), "%late")
			})
		}
	}
}
