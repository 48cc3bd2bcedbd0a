// Package linux gives raw facts of the Linux kernel, typed: process identity,
// pidfds, waiting without reaping, starting a process, and control groups.
// It decides nothing. Nothing here is covered by semantic versioning.
//
// The kernel versions that matter, and what is done before them:
//
//	3.4   PR_SET_CHILD_SUBREAPER
//	4.5   cgroup v2
//	5.2   CLONE_PIDFD; cgroup.freeze          pidfd_open right after the start
//	5.3   pidfd_open, pidfds in epoll
//	5.4   waitid(P_PIDFD)                     waitid(P_PID) while unreaped
//	5.7   CLONE_INTO_CGROUP                   no cgroup rung
//	5.9   close_range (CLOEXEC flag: 5.11)    walk of /proc/self/fd
//	5.14  cgroup.kill                         freeze, kill each, thaw
//	6.9   pidfs inodes, group signal by pidfd  start ticks; kill(-pgid)
//	6.15  status of a reaped stranger by pidfd that of the SIGKILL we sent it
package linux
