// Package console is what a person sees of all that runs for them: the jobs of
// every server and daemon, and every run. It asks them all at once, finds one by
// the beginning of its id, reads what it says, and stops it.
package console
