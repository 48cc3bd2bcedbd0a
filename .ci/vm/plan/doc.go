// Package plan is what the machine that starts a virtual one and the first
// process inside it say to each other: the commands to run, and how each ended.
package plan
