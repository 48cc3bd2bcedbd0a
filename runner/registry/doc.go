// Package registry is the list of this user's runs: a directory with two files
// a run, its record and a lock that the runner holds for life. The kernel gives
// the lock back at any death, so whether a run is live is asked of the kernel
// and never concluded from a process id.
//
// A run that ended leaves a tombstone in a subdirectory for ten minutes: how it
// ended and where its event stream is.
//
// The servers of this user have a directory of the same form, without tombstones.
//
// What lies in the directory is data of others: it is checked before it is used.
package registry
