package linux

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Stat is the part of /proc/pid/stat that identifies and places a process.
type Stat struct {
	PID     int
	Comm    string // the name, which the process itself may set to any 15 bytes
	State   byte   // R, S, D, T, t, Z, X, I, ...
	PPID    int
	Pgrp    int
	Session int
	Threads int    // a zombie's last one included
	CPU     uint64 // clock ticks, user and system, with the children it waited for
	Start   uint64 // clock ticks since boot
}

// TicksPerSecond is USER_HZ, the unit of Stat's times; every architecture that
// Go knows has 100.
const TicksPerSecond = 100

// Dead reports whether nothing of the process runs any more. A first thread
// that ended before the others shows as a zombie too, with more than one thread.
func (s Stat) Dead() bool {
	return s.State == 'X' || s.State == 'x' || s.State == 'Z' && s.Threads <= 1
}

// Stopped reports whether the process is stopped by a signal or a tracer.
func (s Stat) Stopped() bool { return s.State == 'T' || s.State == 't' }

// ErrStatFormat is wrapped by every error of ParseStat.
var ErrStatFormat = errors.New("not a stat line")

// ParseStat reads one /proc/pid/stat. The name stands in parentheses and may
// hold anything, parentheses, spaces and newlines included, so the fields are
// counted from the last parenthesis (proc_pid_stat(5)).
func ParseStat(line []byte) (Stat, error) {
	open := bytes.IndexByte(line, '(')
	last := bytes.LastIndexByte(line, ')')
	if open < 2 || last < open || line[open-1] != ' ' {
		return Stat{}, fmt.Errorf("%w: no name in parentheses", ErrStatFormat)
	}
	var s Stat
	var err error
	if s.PID, err = number(line[:open-1]); err != nil {
		return Stat{}, err
	}
	s.Comm = string(line[open+1 : last])
	// Fields 3 (state) to 22 (starttime) are rest[0] to rest[19].
	var rest [20][]byte
	n := fields(line[last+1:], rest[:])
	if n < len(rest) || len(rest[0]) != 1 || !letter(rest[0][0]) {
		return Stat{}, fmt.Errorf("%w: %d fields after the name", ErrStatFormat, n)
	}
	s.State = rest[0][0]
	if s.PPID, err = number(rest[1]); err != nil {
		return Stat{}, err
	}
	if s.Pgrp, err = number(rest[2]); err != nil {
		return Stat{}, err
	}
	if s.Session, err = number(rest[3]); err != nil {
		return Stat{}, err
	}
	if s.Threads, err = number(rest[17]); err != nil {
		return Stat{}, err
	}
	// utime and stime, and cutime and cstime, which the kernel prints signed.
	for _, f := range rest[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return Stat{}, fmt.Errorf("%w: processor time %q", ErrStatFormat, f)
		}
		s.CPU += uint64(max(n, 0))
	}
	if s.Start, err = strconv.ParseUint(string(rest[19]), 10, 64); err != nil {
		return Stat{}, fmt.Errorf("%w: start time %q", ErrStatFormat, rest[19])
	}
	return s, nil
}

// fields finds the first words of b and gives their number. Unlike bytes.Fields
// it allocates nothing: stat is read for every look at a job.
func fields(b []byte, into [][]byte) (n int) {
	for n < len(into) {
		b = bytes.TrimLeft(b, " \t\n\v\f\r")
		if len(b) == 0 {
			break
		}
		end := bytes.IndexAny(b, " \t\n\v\f\r")
		if end < 0 {
			end = len(b)
		}
		into[n], b = b[:end], b[end:]
		n++
	}
	return n
}

func letter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

// number reads a process id, which fits 32 bits on every kernel. A group or
// session of a process in an outer pid namespace is 0, of one without -1.
func number(b []byte) (int, error) {
	n, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%w: number %q", ErrStatFormat, b)
	}
	return int(n), nil
}
