package control

import (
	"net"
	"testing"
)

// Peers that connect and say nothing keep nobody from asking, however many they
// are.
func TestFloodOfSilentPeers(t *testing.T) {
	f := &fakeRun{}
	s := serve(t, f)
	w, err := Watch(t.Context(), s.Endpoint(), "a run")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 2 * peers {
		dial(t, s.Endpoint())
	}
	if _, err := Inspect(t.Context(), s.Endpoint(), "a run"); err != nil {
		t.Error(err)
	}
	if _, err := Kill(t.Context(), s.Endpoint(), "a run", nil); err != nil {
		t.Error(err)
	}
	s.Changed()
	if err := w.Next(); err != nil {
		t.Errorf("who watched before them: %v", err)
	}
}

// Who watches leaves room for those who ask.
func TestFloodOfWatchers(t *testing.T) {
	s := serve(t, &fakeRun{})
	refused := 0
	for range peers {
		w, err := Watch(t.Context(), s.Endpoint(), "a run")
		if err != nil {
			refused++
			continue
		}
		defer w.Close()
	}
	if refused != peers-streams {
		t.Errorf("%d were refused", refused)
	}
	if _, err := Inspect(t.Context(), s.Endpoint(), "a run"); err != nil {
		t.Error(err)
	}
}

// The one that goes has been silent longest; none that has asked does.
func TestDismiss(t *testing.T) {
	s := &Server{conns: map[net.Conn]*caller{}}
	var here, there []net.Conn
	for range 4 {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		here, there = append(here, a), append(there, b)
		s.enter(a)
	}
	if !s.answering(here[0]) || !s.answering(here[2]) || !s.rests(here[2]) {
		t.Fatal("not answered")
	}
	for _, want := range []int{1, 3} {
		s.dismiss()
		if s.answering(here[want]) {
			t.Errorf("%d was not sent away", want)
		}
		if _, err := there[want].Read(make([]byte, 1)); err == nil {
			t.Errorf("%d is still connected", want)
		}
	}
	s.dismiss() // nobody is silent
	if len(s.conns) != 2 {
		t.Errorf("%d are left", len(s.conns))
	}
}
