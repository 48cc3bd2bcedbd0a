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

// TestFullPipeIsNoPause: a pump in naps sees that its writer may be waiting although
// much of the pipe is empty.
func TestFullPipeIsNoPause(t *testing.T) {
	p, w := nappingPump(t)
	const halfPage = 2049 // no two of them share a page
	p.grow(pipeSize)
	fillPipe(t, w, make([]byte, halfPage))
	p.short = time.Now()
	if err := p.burst(); err != nil {
		t.Fatal(err)
	}
	if p.short.IsZero() {
		t.Errorf("%d bytes in a pipe of %d were followed by naps until there was a pause", p.moved.Load(), p.room)
	}
}

// TestPumpKnowsItsPipe: where the size stays as it was, that is what counts.
func TestPumpKnowsItsPipe(t *testing.T) {
	p, w := nappingPump(t)
	size, err := p.r.Grow(pipeSize)
	if err != nil || size < pipeSize {
		t.Skipf("this user may not have larger pipes: %d bytes, %v", size, err)
	}
	fillPipe(t, w, make([]byte, 4096)) // so it cannot become smaller
	p.room = 2 * size
	if p.grow(size / 2); p.room != size {
		t.Errorf("a pipe of %d bytes counts as one of %d", size, p.room)
	}
}

// TestPacketsAreTakenTogether: of a pipe in packet mode a read gives one write.
func TestPacketsAreTakenTogether(t *testing.T) {
	p, w := nappingPump(t)
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), syscall.F_SETFL, syscall.O_DIRECT); errno != 0 {
		t.Skip(errno)
	}
	for range 10 {
		if _, err := w.WriteString("a\n"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := p.take(); n != 20 || err != nil {
		t.Errorf("took %d bytes of 20, %v", n, err)
	}
}

// nappingPump is a pump whose pipe is out of the poller, and the job's end of it.
func nappingPump(t *testing.T) (*pump, *os.File) {
	t.Helper()
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	if err := r.Quiet(); err != nil {
		t.Fatal(err)
	}
	return (&Store{}).newPump(r, ring.NewJob(ring.Limits{}, nil).Stream(ring.Stdout)), w
}

// fillPipe repeats a write until the pipe takes no more.
func fillPipe(t *testing.T, w *os.File, b []byte) {
	t.Helper()
	if err := syscall.SetNonblock(int(w.Fd()), true); err != nil {
		t.Fatal(err)
	}
	for {
		if n, err := syscall.Write(int(w.Fd()), b); err == syscall.EAGAIN || err == nil && n < len(b) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
