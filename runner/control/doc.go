// Package control is the conversation with a run that is live: one line with a
// verb to the runner's endpoint, one line of JSON back. The runner's side
// answers any number of peers at once; the asking side trusts nothing that it
// reads.
package control
