// Package hostwake hands one line of text to the program that hosts an agent,
// beside the protocol that the agent's tools speak, so that the agent takes a
// turn. Two hosts have a door for that: one a messaging socket whose path and
// token it gives to the processes it starts, the other an app-server that is
// started for the purpose. Neither door is documented by its host; what does
// not answer as expected is an Outcome and never a failure of the caller.
//
// The package decides nothing: whether, when and with which text to wake is the
// caller's. It reads no environment.
//
// It is not covered by semantic versioning.
package hostwake
