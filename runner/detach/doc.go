// Package detach gives jobs a supervisor of their own, so that they outlive the
// server that started them, and lets a later server adopt them.
//
// A [Place] is the directory of one user's jobs in one scope. Each job has a
// folder there:
//
//	owner           names the server that has the job; a lock in owners/ says
//	                whether that server lives
//	supervisor.lock held by the job's supervisor for life
//	supervisor.json where the supervisor is controlled
//	supervisor.log  what it said on standard error
//	order.json      what to start, as long as that has not begun
//	waiting         nothing: the job waits for a place, and no supervisor has begun
//	aside           room for the end of the journal on a disk that is full
//	journal.N       the output and the record; two at most, of bounded size
//
// A supervisor writes its journal and nobody else does until it has ended; it is
// read by whoever has the job, from the beginning of the newest file, so what is
// shown after a restart is what was shown before.
package detach
