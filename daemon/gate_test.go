package daemon

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdle(t *testing.T) {
	const idle = 10 * time.Second
	for _, c := range []struct {
		name string
		use  func(g *gate)
		idle time.Duration
		want time.Duration // 0: never
	}{
		{"never used", func(*gate) {}, idle, idle},
		{"never used, a short time", func(*gate) {}, time.Millisecond, firstStay},
		{"no timeout", func(*gate) {}, 0, 0},
		{"used, a short time", func(g *gate) { g.admit(Client{}).leave() }, time.Millisecond, time.Millisecond},
		{"a client for a while", func(g *gate) {
			l := g.admit(Client{})
			time.AfterFunc(25*time.Second, l.leave)
		}, idle, 35 * time.Second},
		{"a client that stays", func(g *gate) { g.admit(Client{}) }, idle, 0},
		{"a request for a while", func(g *gate) {
			g.enter()
			time.AfterFunc(12*time.Second, g.exit)
		}, idle, 22 * time.Second},
		{"work for a while", func(g *gate) {
			var k Keep
			k.serve(g)
			release := k.Take()
			time.AfterFunc(40*time.Second, func() { release(); release() })
		}, idle, 50 * time.Second},
		// The countdown begins with the last to leave, whatever came before.
		{"the next comes as one leaves", func(g *gate) {
			a := g.admit(Client{})
			time.AfterFunc(5*time.Second, func() {
				a.leave()
				b := g.admit(Client{})
				time.AfterFunc(9*time.Second, b.leave)
			})
		}, idle, 24 * time.Second},
		{"a client during the countdown", func(g *gate) {
			time.AfterFunc(9*time.Second, func() { g.admit(Client{}).leave() })
		}, idle, 19 * time.Second},
		{"one of two leaves twice", func(g *gate) {
			a := g.admit(Client{})
			g.admit(Client{})
			a.leave()
			a.leave()
		}, idle, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				g := newGate(c.idle, begin)
				c.use(g)
				stop := make(chan struct{})
				time.AfterFunc(10*time.Minute, func() { close(stop) })
				if got := g.waitIdle(stop); got != (c.want > 0) {
					t.Fatalf("idle: %v", got)
				}
				if got := time.Since(begin); c.want > 0 && got != c.want {
					t.Errorf("after %v, want %v", got, c.want)
				}
				if l := g.admit(Client{}); (l == nil) != (c.want > 0) {
					t.Errorf("a client afterwards: %v", l)
				}
				<-stop
			})
		})
	}
}

// A client that comes at the very moment at which the time is over is either
// let in, and the daemon stays, or turned away.
func TestIdleAndAdmissionAtOnce(t *testing.T) {
	admitted := 0
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(5*time.Second, time.Now())
			g.used = true
			stop := make(chan struct{})
			over := make(chan bool)
			go func() { over <- g.waitIdle(stop) }()
			came := make(chan *lease, 1)
			time.AfterFunc(5*time.Second, func() { came <- g.admit(Client{}) })
			l := <-came
			if l != nil {
				admitted++
				close(stop)
			}
			if idle := <-over; idle != (l == nil) {
				t.Errorf("idle %v and a lease %v", idle, l)
			}
		})
	}
	t.Logf("%d of 200 were let in", admitted)
}

func TestDrainGate(t *testing.T) {
	g := newGate(0, time.Now())
	l := g.admit(Client{})
	if !g.enter() {
		t.Fatal("a request was turned away")
	}
	if g.quietNow() {
		t.Error("quiet with a client and a request")
	}
	empty := g.drain()
	if g.admit(Client{}) != nil || g.enter() {
		t.Error("somebody was let in while it drains")
	}
	l.leave()
	select {
	case <-empty:
		t.Error("empty with a request")
	default:
	}
	g.exit()
	<-empty
	if again := g.drain(); again != empty {
		t.Error("a second drain has another end")
	}
	var k Keep
	g = newGate(0, time.Now())
	k.serve(g)
	release := k.Take()
	if g.quietNow() {
		t.Error("quiet with work")
	}
	release()
	if !g.quietNow() || g.admit(Client{}) != nil {
		t.Error("not quiet, or open after it")
	}
}

func TestConnTracker(t *testing.T) {
	c := NewConnTracker()
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() {}, 0}, {c.Disconnect, 0}, {c.Connect, 1}, {c.Connect, 2}, {c.Disconnect, 1}, {c.Disconnect, 0}, {c.Disconnect, 0}, {c.Connect, 1},
	} {
		if step.do(); c.Active() != step.want {
			t.Errorf("%d active, want %d", c.Active(), step.want)
		}
	}
}
