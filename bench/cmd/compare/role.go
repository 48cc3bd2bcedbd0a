package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// roleWord as the first argument makes this program one of the processes that
// are measured: what produces, or one that takes in by itself.
const roleWord = "role"

// playRole runs the role that args name and gives the exit code.
func playRole(args []string) int {
	if len(args) == 0 {
		return 2
	}
	var err error
	switch name, rest := args[0], args[1:]; name {
	case "produce":
		err = produce(rest)
	case "stamp":
		err = stamp(rest)
	default:
		take, known := takers[name]
		if !known {
			err = fmt.Errorf("no role %s", name)
			break
		}
		err = consume(take, rest)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		return 1
	}
	return 0
}

// roleArgv is the argument vector of a role.
func roleArgv(args ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return append([]string{self, roleWord}, args...), nil
}

const lineSize = 80

// produce writes BYTES of 80-byte lines to standard output, WRITE bytes at a
// time, and to the file REPORT how many nanoseconds that took. What takes the
// lines in is measured by how long it lets its producer work: the same clock
// for every side, and no start or end of a process in it.
func produce(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("produce BYTES WRITE REPORT")
	}
	left, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	write, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	block := make([]byte, write)
	for i := range block {
		block[i] = 'x'
		if i%lineSize == lineSize-1 {
			block[i] = '\n'
		}
	}
	start := time.Now()
	for ; left > 0; left -= write {
		if _, err := os.Stdout.Write(block); err != nil {
			return err
		}
	}
	took := time.Since(start)
	return os.WriteFile(args[2], strconv.AppendInt(nil, took.Nanoseconds(), 10), 0o600)
}

// stamp writes COUNT lines, each the time in nanoseconds since 1970 at which it
// was written, EVERY apart, the first after as long.
func stamp(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("stamp COUNT EVERY")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	every, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	for range n {
		<-time.After(every)
		line := strconv.AppendInt(nil, time.Now().UnixNano(), 10)
		if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// consumed is what a consuming role tells of itself.
type consumed struct {
	Bytes int64
	CPU   time.Duration // of this process alone, the producer's not in it
}

// consume starts the producer whose argument vector follows, has take read what
// it says, and tells what that cost.
func consume(take taker, argv []string) error {
	before := ownCPU()
	cmd := apart(exec.Command(argv[0], argv[1:]...))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n, err := take(out)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(consumed{n, ownCPU() - before})
}

// reported reads what produce wrote.
func reported(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("the producer has not said how long it took: %w", err)
	}
	ns, err := strconv.ParseInt(string(text), 10, 64)
	return time.Duration(ns), err
}

// reportIn gives the path of a report in dir, new each time.
func reportIn(dir string, n int) string { return filepath.Join(dir, "took-"+strconv.Itoa(n)) }

// taker reads a stream to its end and gives the bytes of it.
type taker func(io.Reader) (int64, error)
