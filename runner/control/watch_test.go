package control

import (
	"errors"
	"testing"
)

// Who watches hears of every change, of many at once perhaps, and of the end.
func TestWatch(t *testing.T) {
	s := serve(t, &fakeRun{})
	w, err := Watch(t.Context(), s.Endpoint(), "a run")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	other, err := Watch(t.Context(), s.Endpoint(), "a run")
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	for range 3 {
		s.Changed()
		if err := w.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		s.Changed() // nobody takes them
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for heard := 0; w.Next() == nil; heard++ {
		if heard == 1000 {
			t.Fatal("more was told than happened")
		}
	}
	if _, err := Watch(t.Context(), s.Endpoint(), "a run"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("watched after the end: %v", err)
	}
}

// A watch of another run's endpoint is no watch.
func TestWatchAnother(t *testing.T) {
	s := serve(t, &fakeRun{})
	if _, err := Watch(t.Context(), s.Endpoint(), "another"); !errors.Is(err, ErrIncompatible) {
		t.Errorf("%v", err)
	}
}
