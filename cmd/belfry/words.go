package main

import (
	"io"
	"sync/atomic"
	"time"
)

// unheard is how long stderr may take nothing before what we say is given up: the
// run, or the verb, is over then and its status must get out.
const unheard = 5 * time.Second

// words are what belfry itself says on stderr. A reader that takes nothing costs
// once unheard, and no more words after that.
type words struct {
	mute atomic.Bool
}

// say writes text.
func (w *words) say(to io.Writer, text string) {
	if w.mute.Load() {
		return
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.WriteString(to, text) // Best effort: there is nowhere else to tell it.
	}()
	late := time.NewTimer(unheard)
	defer late.Stop()
	select {
	case <-said:
	case <-late.C:
		w.mute.Store(true)
	}
}
