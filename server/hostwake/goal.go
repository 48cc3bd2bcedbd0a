package hostwake

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

const (
	// greetLimit bounds everything before the goal is set: an app-server that
	// starts on a busy machine takes seconds.
	greetLimit = 30 * time.Second
	// turnLimit is how long a turn may take to start once the goal was sent.
	turnLimit = 5 * time.Second
	// turnBudget is how many tokens the agent may spend on the turn.
	turnBudget = 20_000
	// goalsFeature is the app-server's experiment that this stands on.
	goalsFeature = "goals"
	// featurePages bounds a list that never ends.
	featurePages = 100
)

// errNoGoals means that the app-server cannot set goals.
var errNoGoals = errors.New("the app-server has no enabled feature " + goalsFeature)

// goal is one conversation with an app-server: a thread gets an objective, and
// with it a turn.
type goal struct {
	*peer
	thread             string
	started, completed bool // a turn of the thread
}

func (g *goal) note(m message) {
	if m.Method != "turn/started" && m.Method != "turn/completed" {
		return
	}
	var p struct {
		ThreadID string `json:"threadId"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.ThreadID != g.thread {
		return
	}
	if m.Method == "turn/started" {
		g.started = true
		return
	}
	g.completed = g.started
}

type (
	clientInfo struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	capabilities struct {
		ExperimentalAPI bool `json:"experimentalApi"`
	}
	initializeParams struct {
		ClientInfo   clientInfo   `json:"clientInfo"`
		Capabilities capabilities `json:"capabilities"`
	}
	featureParams struct {
		Cursor *string `json:"cursor,omitempty"`
	}
	featurePage struct {
		Data []struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"data"`
		NextCursor *string `json:"nextCursor"`
	}
	goalParams struct {
		ThreadID    string `json:"threadId"`
		Objective   string `json:"objective"`
		Status      string `json:"status"`
		TokenBudget int    `json:"tokenBudget"`
	}
)

// greet opens the conversation and finds out whether goals can be set.
func (g *goal) greet(ctx context.Context, version string) error {
	var ignored json.RawMessage
	err := g.call(ctx, "initialize", initializeParams{
		ClientInfo:   clientInfo{Name: "belfry", Title: "belfry", Version: version},
		Capabilities: capabilities{ExperimentalAPI: true},
	}, &ignored)
	if err != nil {
		return err
	}
	if err := g.notify("initialized"); err != nil {
		return err
	}
	var params featureParams
	for range featurePages {
		var page featurePage
		if err := g.call(ctx, "experimentalFeature/list", params, &page); err != nil {
			return err
		}
		for _, f := range page.Data {
			if f.Name == goalsFeature && f.Enabled {
				return nil
			}
		}
		if page.NextCursor == nil || *page.NextCursor == "" {
			break
		}
		params.Cursor = page.NextCursor
	}
	return errNoGoals
}

// set gives the thread its objective and waits for the turn. The turn may start
// before the reply, with it or after it.
func (g *goal) set(ctx context.Context, objective string) error {
	g.started, g.completed = false, false // an earlier turn is not this one
	var ignored json.RawMessage
	err := g.call(ctx, "thread/goal/set", goalParams{
		ThreadID: g.thread, Objective: objective, Status: "active", TokenBudget: turnBudget,
	}, &ignored)
	for err == nil && !g.started {
		_, _, err = g.next(ctx)
	}
	if g.started && !isReply(err) {
		return nil // whatever became of the reply, the turn runs
	}
	return err
}

func isReply(err error) bool {
	_, ok := errors.AsType[*rpcError](err)
	return ok
}

// finish waits for the turn's end.
func (g *goal) finish(ctx context.Context) {
	for !g.completed {
		if _, _, err := g.next(ctx); err != nil {
			return
		}
	}
}

// wake converses until it is known how the attempt ended. ctx is the caller's.
func (g *goal) wake(ctx context.Context, version, payload string) Outcome {
	within, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	if err := g.greet(within, version); err != nil {
		switch {
		case ctx.Err() != nil:
			return threw(context.Cause(ctx))
		case errors.Is(err, errNoGoals):
			return unavailable("%v", err).forGood()
		case errors.Is(err, context.DeadlineExceeded):
			return unavailable("the app-server did not answer within %v", greetLimit)
		}
		return unavailable("%v", err)
	}
	within, cancel = context.WithTimeout(ctx, turnLimit)
	defer cancel()
	if err := g.set(within, payload); err != nil {
		switch {
		case ctx.Err() != nil:
			return threw(context.Cause(ctx))
		case errors.Is(err, context.DeadlineExceeded):
			return refused("no turn started within %v", turnLimit)
		}
		return refused("%v", err)
	}
	return Outcome{Result: Delivered, Detail: "a turn of the thread started"}
}
