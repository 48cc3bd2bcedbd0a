package linux

import (
	"io"
	"testing"
)

// The last words of one that ended with a message of ours unread are heard.
func TestLastWords(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(ours)
	for _, w := range []string{"exit", "empty"} {
		if err := Send(theirs, []byte(w)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Send(ours, []byte("kill")); err != nil {
		t.Fatal(err)
	}
	CloseFD(theirs)
	for _, want := range []string{"exit", "empty"} {
		var b [16]byte
		n, _, err := Receive(ours, b[:])
		if err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v instead of %q", b[:n], err, want)
		}
	}
	var b [16]byte
	if _, _, err := Receive(ours, b[:]); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
