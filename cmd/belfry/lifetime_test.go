package main

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestLifetime(t *testing.T) {
	t.Run("the first signal ends serving, the second patience", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := watched(t)
			l.signals <- syscall.SIGTERM
			synctest.Wait()
			if err := context.Cause(l.serve); !errors.Is(err, errSignalled) {
				t.Fatalf("after one signal serve ended with %v", err)
			}
			if l.patience.Err() != nil {
				t.Fatal("one signal ended patience")
			}
			l.end()
			l.signals <- syscall.SIGHUP
			synctest.Wait()
			if l.patience.Err() == nil {
				t.Fatal("the second signal changed nothing")
			}
		})
	})
	t.Run("one signal after the end of the input ends both", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := watched(t)
			l.end()
			if l.serve.Err() != nil {
				t.Fatal("the end of the input ended serving, though follows may still be answered")
			}
			if l.patience.Err() != nil {
				t.Fatal("the end of the input ended patience")
			}
			l.signals <- syscall.SIGINT
			synctest.Wait()
			if l.patience.Err() == nil || !errors.Is(context.Cause(l.serve), errSignalled) {
				t.Fatal("the signal changed nothing")
			}
		})
	})
}

// watched makes a lifetime whose signals come from the test.
func watched(t *testing.T) *lifetime {
	l := idleLifetime(t.Context())
	go l.watch()
	t.Cleanup(l.stop)
	return l
}
