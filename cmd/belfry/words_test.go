package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who reads nothing of stderr is waited for once, and the status gets out.
func TestUnheardWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var said words
		began := time.Now()
		for range 3 {
			said.say(w, "unheard\n")
		}
		if took := time.Since(began); took != unheard {
			t.Errorf("waited %v, not %v", took, unheard)
		}
		r.Close() // lets go of who still writes
	})
	var out strings.Builder
	var said words
	for range 2 {
		said.say(&out, "heard\n")
	}
	if out.String() != "heard\nheard\n" {
		t.Errorf("%q", out.String())
	}
}
