package daemon

import "fmt"

// Group runs actors together: when one returns, all are interrupted. The zero
// value is ready for use; it is not safe for concurrent use.
type Group struct {
	actors []actor
}

type actor struct {
	execute   func() error
	interrupt func(error)
}

// PanicError is the error of an actor that panicked.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("actor panicked: %v", e.Value) }

// Add adds an actor. execute does its work and returns; interrupt makes execute
// return, must not block, and may be called after it has returned. It gets the
// error that ended the group.
func (g *Group) Add(execute func() error, interrupt func(error)) {
	g.actors = append(g.actors, actor{execute, interrupt})
}

// Run starts every actor, waits until one returns, calls all interrupts in the
// order of Add, waits for all actors, and gives the first one's error. An actor
// that panics ends the group with a *PanicError. Without actors it returns nil
// at once.
func (g *Group) Run() error {
	if len(g.actors) == 0 {
		return nil
	}
	ended := make(chan error, len(g.actors))
	for _, a := range g.actors {
		go func() {
			var err error
			defer func() {
				if v := recover(); v != nil {
					err = &PanicError{Value: v}
				}
				ended <- err
			}()
			err = a.execute()
		}()
	}
	first := <-ended
	for _, a := range g.actors {
		a.interrupt(first)
	}
	for range len(g.actors) - 1 {
		<-ended
	}
	return first
}
