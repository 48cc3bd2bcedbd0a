package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A client that reads nothing and then goes is noticed although requests of its are
// still to be served.
func TestEndBehindACrowd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told time.Time
		p := connectWith(t, t.Context(), toyFront(t, func(o *Options) {
			withMethods(o)
			o.OnEnd = func() { told = time.Now() }
		}), false)
		crowd(p)
		from := time.Now()
		p.in.Close()
		if err := <-p.done; !errors.Is(err, errStalled) {
			t.Errorf("Serve: %v", err)
		}
		if took := told.Sub(from); took != flushStall {
			t.Errorf("told after %v", took)
		}
		p.out.Close()
	})
}

// One that goes on reading after the end of its input gets all replies.
func TestEndBehindACrowdThatIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connectWith(t, t.Context(), toyFront(t, nil), false)
		n := crowd(p)
		p.in.Close()
		time.Sleep(flushStall - time.Millisecond)
		go p.read()
		if err := <-p.done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		<-p.eof
		if got := len(p.results()); got != n {
			t.Errorf("%d of %d replies", got, n)
		}
	})
}

// crowd sends requests until none is served for want of room, and some more. It tells
// how many there were.
func crowd(p *pipe) (n int) {
	const text = 64 << 10
	send := func() {
		p.write(call(Modern, fmt.Sprint(n), "quick", `"x":"`+strings.Repeat("a", text)+`"`))
		n++
	}
	for n <= crowded/(2*text) { // a reply has it twice
		send()
	}
	for range 10 {
		send()
	}
	synctest.Wait()
	return n
}

// What is read on is given out in order and bounded, and the error after it.
func TestAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, w := io.Pipe()
		a := newAhead(r)
		say := func(s string) { go io.WriteString(w, s); synctest.Wait() }
		read := func(want string) {
			t.Helper()
			b := make([]byte, 100)
			if n, err := a.Read(b); string(b[:n]) != want || err != nil {
				t.Errorf("read %q, %v, want %q", b[:n], err, want)
			}
		}
		say("before")
		read("before")
		a.begin()
		say("mean")
		a.begin()
		say("while")
		read("meanwhile")
		a.rest()
		go func() {
			time.Sleep(time.Second)
			io.WriteString(w, "waited for")
		}()
		read("waited for")
		say("after")
		read("after")
		a.begin()
		wrote := 0
		go func() {
			for piece := make([]byte, readSize); ; wrote += len(piece) {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if wrote != aheadSize {
			t.Errorf("%d bytes were read on", wrote)
		}
		if n, err := io.CopyN(io.Discard, a, aheadSize+1); err != nil {
			t.Errorf("%d, %v", n, err)
		}
		w.CloseWithError(io.ErrUnexpectedEOF)
		if _, err := io.Copy(io.Discard, a); err != io.ErrUnexpectedEOF {
			t.Errorf("at the end: %v", err)
		}
	})
}
