// Package server gives the jobs of a store to an MCP client as seven tools:
// run, status, list, output, tail, follow and kill. A job is also a task of the
// Tasks extension and two resources, with subscriptions to all of them; and
// where the program that hosts the agent has a door of its own, it is woken
// through that.
//
// What a client is told unasked is never queued without bound: each subscription
// remembers what its client has yet to hear of, and says it, as it is then, when
// the client reads.
//
// It holds no state of jobs. A tool decodes its arguments, asks package job,
// and writes the answer; framing, protocol eras and cancellation are those of
// package wire. The replies are written by hand rather than through reflection
// so that their size is known before they are made: a page is cut to the
// budget of its reader, and the budget is counted on the very bytes that are
// sent.
//
// The package is importable, but semantic versioning does not cover it.
package server
