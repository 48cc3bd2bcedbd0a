package systest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forever bounds helpers that wait to be ended, so that a lost one does not
// stay for good.
const forever = 60 * time.Second

func rest(d time.Duration) { <-time.After(d) }

// builtin are the helpers that every test binary has:
//
//	sleep [SECONDS]         sleeps, a minute unless told
//	exit N                  exits with status N
//	spam LINES [BYTES]      writes lines of BYTES bytes, newline included
//	long-line BYTES         writes one line of so many bytes, newline included
//	crlf LINES              writes lines that end in CR LF
//	no-newline TEXT         writes TEXT and exits
//	both LINES              writes lines to standard output and error in turn
//	echo [ARG...]           writes its arguments, one a line
//	env [NAME...]           writes variables as NAME=value, all unless named
//	cat                     copies standard input to standard output
//	close-stdout            closes standard output and error, then sleeps
//	fdlist                  writes the descriptors that it inherited (Linux)
//	ignore-term             writes "ready", ignores soft signals, sleeps (Unix)
//	on-term TEXT            writes "ready"; at SIGTERM writes TEXT, exits (Unix)
//	die-by SIGNAL           ends itself by a signal's number (Unix)
//	tree stay|exit LEASH    starts a tree that tries to escape: its own group,
//	                        session, double forks and a runner that forks into
//	                        a new session every 3 ms for as long as the file
//	                        LEASH exists; writes "ready" (Unix)
func builtin() map[string]Helper {
	all := map[string]Helper{
		"sleep": func(args []string) int {
			d := forever
			if len(args) > 0 {
				s, err := strconv.ParseFloat(args[0], 64)
				if err != nil {
					return 2
				}
				d = time.Duration(s * float64(time.Second))
			}
			rest(d)
			return 0
		},
		"exit":      func(args []string) int { return number(args, 0) },
		"spam":      func(args []string) int { return spam(os.Stdout, number(args, 0), number(args, 1), "\n") },
		"long-line": func(args []string) int { return spam(os.Stdout, 1, number(args, 0), "\n") },
		"crlf":      func(args []string) int { return spam(os.Stdout, number(args, 0), 0, "\r\n") },
		"no-newline": func(args []string) int {
			_, err := io.WriteString(os.Stdout, args[0])
			return status(err)
		},
		"both": func(args []string) int {
			for i := range number(args, 0) {
				fmt.Fprintf(os.Stdout, "out %d\n", i)
				fmt.Fprintf(os.Stderr, "err %d\n", i)
			}
			return 0
		},
		"echo": func(args []string) int {
			for _, a := range args {
				fmt.Fprintln(os.Stdout, a)
			}
			return 0
		},
		"env": func(args []string) int {
			for _, kv := range os.Environ() {
				name, _, _ := strings.Cut(kv, "=")
				if len(args) == 0 || slices.Contains(args, name) {
					fmt.Fprintln(os.Stdout, kv)
				}
			}
			return 0
		},
		"cat": func([]string) int {
			_, err := io.Copy(os.Stdout, os.Stdin)
			return status(err)
		},
		"close-stdout": func([]string) int {
			os.Stdout.Close()
			os.Stderr.Close()
			rest(forever)
			return 0
		},
	}
	maps.Copy(all, platformHelpers())
	return all
}

// spam writes lines that begin with their number; size counts the ending, and
// 0 means as short as can be.
func spam(w io.Writer, lines, size int, ending string) int {
	b := bufio.NewWriterSize(w, 64<<10)
	for i := range lines {
		text := []byte(strconv.Itoa(i) + " ")
		if pad := size - len(text) - len(ending); pad > 0 {
			text = append(text, bytes.Repeat([]byte{'x'}, pad)...)
		}
		b.Write(text)
		b.WriteString(ending)
	}
	return status(b.Flush())
}

func number(args []string, i int) int {
	if i >= len(args) {
		return 0
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		fmt.Fprintln(os.Stderr, "systest:", err)
		os.Exit(2)
	}
	return n
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "systest:", err)
		return 1
	}
	return 0
}
