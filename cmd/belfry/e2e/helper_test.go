package e2e

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// helperVerb makes this binary one of the programs below:
//
//	helper helperVerb NAME ARG...
const helperVerb = "be"

// lifespan is when a helper ends by itself, should nothing else end it.
const lifespan = 3 * time.Minute

var helpers = map[string]func([]string) int{
	"argv":     argv,
	"burn":     burn,
	"emoji":    emoji,
	"errors":   errorFlood,
	"forge":    forge,
	"grow":     grow,
	"lines":    lines,
	"listen":   listen,
	"stubborn": stubborn,
}

// help is one of the helpers, and gives the status to exit with.
func help(name string, args []string) int {
	helperExe, _ = os.Executable()
	f := helpers[name]
	if f == nil {
		return complain(fmt.Errorf("no helper %q", name))
	}
	return f(args)
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 99
}

// say writes to stdout; a helper that nobody hears goes on all the same.
func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format, args...) }

// ignorePolite ignores every polite request to end; so do the programs that
// the helper starts.
func ignorePolite() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
}

// stubborn does not end when asked to.
func stubborn([]string) int {
	ignorePolite()
	say("ready\n")
	time.Sleep(lifespan)
	return 0
}

// argv prints its arguments, each in hexadecimal, as a JSON array.
func argv(args []string) int {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = hex.EncodeToString([]byte(a))
	}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		return complain(err)
	}
	return 0
}

// burn keeps one processor busy.
func burn([]string) int {
	say("ready\n")
	n := 0
	for end := time.Now().Add(lifespan); time.Now().Before(end); {
		for range 1_000_000 {
			n++
		}
	}
	return 0
}

// emoji writes the four bytes of a character one by one on both streams, and
// a lone first byte of a character at the end.
func emoji([]string) int {
	both := func(b []byte) {
		_, _ = os.Stdout.Write(b)
		_, _ = os.Stderr.Write(b)
	}
	both([]byte("a"))
	for _, b := range []byte("\U0001F600") {
		both([]byte{b})
		time.Sleep(100 * time.Millisecond) // so that each byte is read alone
	}
	both([]byte("b\nz\xc3"))
	return 0
}

// errorFlood writes N bytes without a newline to stderr.
func errorFlood(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return complain(err)
	}
	text := []byte(strings.Repeat("e", 10_000))
	for ; n > 0; n -= len(text) {
		if _, err := os.Stderr.Write(text[:min(n, len(text))]); err != nil {
			return complain(err)
		}
	}
	return 0
}

// lines prints N lines of 80 bytes, newline included, each with its number.
func lines(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return complain(err)
	}
	w := bufio.NewWriterSize(os.Stdout, 64<<10)
	for i := range n {
		fmt.Fprintf(w, "%079d\n", i+1)
	}
	if err := w.Flush(); err != nil {
		return complain(err)
	}
	return 0
}

// forge speaks like an MCP server on both streams.
func forge(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return complain(err)
	}
	for i := range n {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"forged":true}}`+"\n", i)
		fmt.Fprint(os.Stdout, line)
		fmt.Fprint(os.Stderr, line)
	}
	return 0
}

// grow appends to a file for as long as it lives. With a second argument it
// does not end when asked to.
func grow(args []string) int {
	if len(args) > 1 {
		ignorePolite()
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return complain(err)
	}
	for i, end := 0, time.Now().Add(lifespan); time.Now().Before(end); i++ {
		if _, err := f.WriteString("x"); err != nil {
			return complain(err)
		}
		if i == 5 {
			say("ready\n")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0
}

// listen holds a TCP port and says which.
func listen([]string) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return complain(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return complain(err)
	}
	say("%s\nready\n", port)
	time.Sleep(lifespan)
	return 0
}
