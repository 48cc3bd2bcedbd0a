// Package darwin states raw facts of the macOS kernel (XNU), typed and without
// cgo: the process records of sysctl, the exit notes of kqueue and the process
// identities of proc_info. It decides nothing.
//
// What is read, and where its layout comes from:
//
//	kern.proc.{pid,pgrp,all}  struct kinfo_proc, <sys/sysctl.h>, 648 bytes on
//	                          amd64 and arm64; pinned at compile time
//	EVFILT_PROC               <sys/event.h>; NOTE_EXIT is delivered while the
//	                          process becomes a zombie and does not reap it
//	proc_info (call 336)      <sys/proc_info.h>; the number is not promised to
//	                          be stable, so every caller has a fallback
//
// Decoders are pure and work on bytes, so they are tested on every system. The
// package is importable, but not covered by semantic versioning.
package darwin
