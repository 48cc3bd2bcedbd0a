// Package job runs commands in the background and remembers what they said
// and how they ended.
//
// A [Store] admits commands, queues what finds no slot, and keeps their
// records and the newest part of their output. [Store.Run] starts one and
// answers at once; [Job.Snapshot] tells how it stands, [Job.Output] and
// [Job.Tail] read its lines, [Job.Follow] waits for more, [Job.Kill] ends its
// whole process tree. Every change of every job is published as a typed
// [Event] to the subscribers of the store.
//
// A job is started through a [Launcher], the seam to an engine; package sys is
// the one for this machine. All ways to end a job (a kill, its deadline, the
// end of its leader, shutdown) go through one teardown.
//
// The exported API of this package follows semantic versioning.
package job
