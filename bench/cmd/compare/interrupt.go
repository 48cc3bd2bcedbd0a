package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// scratch is the folder of what one run needs for a while; "" is the system's.
var scratch string

// interruptible makes the scratch folder, which the end removes, or Ctrl-C and
// SIGTERM, which end the program.
func interruptible(to io.Writer) (end func(), err error) {
	if scratch, err = os.MkdirTemp("", "compare-"); err != nil {
		return nil, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			_ = os.RemoveAll(scratch) // Best effort: what is measured may still write there.
			fmt.Fprintf(to, "compare: ended by a signal (%v); nothing was written\n", s)
			os.Exit(1)
		case <-ended:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(ended)
		_ = os.RemoveAll(scratch) // Best effort, as above.
		scratch = ""
	}, nil
}

// replace writes a file whole or not at all.
func replace(file, text string) error {
	next := file + ".new"
	err := os.WriteFile(next, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(next, file)
	}
	if err != nil {
		_ = os.Remove(next) // Best effort: it may not be there.
	}
	return err
}
