package job

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// pipeCapacity asks the kernel for the size of the pipe that w is an end of.
func pipeCapacity(t *testing.T, w *os.File) int {
	t.Helper()
	const getPipeSize = 1032 // F_GETPIPE_SZ
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), getPipeSize, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return int(n)
}

func TestPumpGrowsThePipe(t *testing.T) {
	for _, c := range []struct {
		name string
		had  int32 // pumps that flood already
		want int
	}{
		{"first", 0, widePipe},
		{"no more wide ones", widePipes, floodPipe},
		{"last of many", floodPipes - 1, floodPipe},
		{"more than many", floodPipes, pipeSize},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Store{}
			s.floods.Store(c.had)
			r, w, err := sys.NewPipe()
			if err != nil {
				t.Fatal(err)
			}
			was := pipeCapacity(t, w)
			j := ring.NewJob(ring.Limits{}, nil)
			p := s.newPump(r, j.Stream(ring.Stdout))
			go p.run()
			if _, err := w.WriteString("a short line\n"); err != nil {
				t.Fatal(err)
			}
			if err := j.Await(t.Context(), func() bool { return j.Head(ring.SelStdout) == 1 }); err != nil {
				t.Fatal(err)
			}
			if n := pipeCapacity(t, w); n != was {
				t.Errorf("a line made the pipe %d bytes", n)
			}
			block := make([]byte, 64<<10)
			for end := time.Now().Add(time.Minute); pipeCapacity(t, w) == was && time.Now().Before(end); {
				if _, err := w.Write(block); err != nil {
					t.Fatal(err)
				}
			}
			// An unprivileged user may have come to the end of what the system allows.
			if n := pipeCapacity(t, w); n > c.want || n < c.want && os.Getuid() == 0 {
				t.Errorf("the pipe has %d bytes, want %d", n, c.want)
			}
			w.Close()
			<-p.eof
			if n := s.floods.Load(); n != c.had {
				t.Errorf("%d pumps flood, want %d", n, c.had)
			}
		})
	}
}
