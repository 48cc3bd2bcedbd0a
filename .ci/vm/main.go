// vm runs commands on another kernel: it boots one in QEMU with nothing but an
// archive in memory, in which vm/init runs the commands, and prints what those
// that failed have said.
//
//	vm -kernel FILE -init FILE [-add FILE]... < COMMANDS
//
// Each line of COMMANDS is a user's number, variables as KEY=value, a program of
// those that were added, and its arguments, separated by spaces.
// The status is 0 when every command ended with 0, 1 when one did not, and 2
// when the machine did not get to the end.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/.ci/vm/plan"
)

type options struct {
	kernel, init, arch, append string
	add                        []string
	limit                      time.Duration
	verbose                    bool
}

func main() {
	var o options
	flag.StringVar(&o.kernel, "kernel", "", "the kernel's image")
	flag.StringVar(&o.init, "init", "", "the first process, static")
	flag.StringVar(&o.arch, "arch", "amd64", "amd64 or arm64")
	flag.StringVar(&o.append, "append", "", "more of the kernel's command line")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "how long the machine may take")
	flag.BoolVar(&o.verbose, "v", false, "print what succeeds too")
	flag.Func("add", "a static program to put into /bin; repeat for more", func(s string) error {
		o.add = append(o.add, s)
		return nil
	})
	flag.Parse()
	ok, err := work(o, os.Stdin)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// read makes runs of commands.
func read(commands io.Reader) ([]plan.Run, error) {
	var runs []plan.Run
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		r := plan.Run{Name: lines.Text()}
		if len(words) == 0 {
			continue
		}
		var err error
		if r.User, err = strconv.Atoi(words[0]); err != nil {
			return nil, fmt.Errorf("command %q: %w", lines.Text(), err)
		}
		for words = words[1:]; len(words) > 0 && strings.Contains(words[0], "="); words = words[1:] {
			r.Env = append(r.Env, words[0])
		}
		if len(words) == 0 {
			return nil, fmt.Errorf("command %q: names no program", lines.Text())
		}
		r.Argv = append([]string{"/bin/" + words[0]}, words[1:]...)
		runs = append(runs, r)
	}
	return runs, lines.Err()
}

func work(o options, commands io.Reader) (bool, error) {
	runs, err := read(commands)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(runs)
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "belfry-vm-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	archive := filepath.Join(tmp, "initramfs")
	if err := pack(archive, o.init, o.add, text); err != nil {
		return false, fmt.Errorf("make %s: %w", archive, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	args := machine(o, archive)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	failed, ended, rest := follow(out, runs, o.verbose)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("the machine was not done after %v", o.limit)
	case err == nil && ended < len(runs):
		err = errors.New("the machine ended early")
	}
	if err != nil {
		return false, fmt.Errorf("%w; its last words:\n%s", err, rest)
	}
	return failed == 0, nil
}

// follow prints how each command ends, and its output when it fails. What was
// not part of a command that ended is the rest.
func follow(out io.Reader, runs []plan.Run, verbose bool) (failed, ended int, rest string) {
	var said strings.Builder
	var start time.Time
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		line = strings.ReplaceAll(line, "\r", "")
		if index, ok := plan.ParseBegin(line); ok && index < len(runs) {
			said.Reset()
			start = time.Now()
		} else if index, code, ok := plan.ParseEnd(line); ok && index < len(runs) {
			word := "ok"
			if code != 0 {
				word = fmt.Sprintf("FAILED with status %d", code)
				failed++
			}
			if code != 0 || verbose {
				io.WriteString(os.Stdout, said.String())
			}
			fmt.Fprintf(os.Stdout, "%s: %s, %.1f s\n", runs[index].Name, word, time.Since(start).Seconds())
			said.Reset()
			ended++
		} else {
			said.WriteString(line)
		}
		if err != nil {
			return failed, ended, said.String()
		}
	}
}

// machine is the command that starts QEMU.
func machine(o options, archive string) []string {
	console := "ttyS0"
	args := []string{"qemu-system-x86_64", "-machine", "q35", "-accel", "tcg",
		// Without cmpxchg16b: TCG of QEMU 7.2 gets it wrong in the allocator of
		// kernels from 6.4.
		"-cpu", "max,-cx16"}
	if o.arch == "arm64" {
		console = "ttyAMA0"
		args = []string{"qemu-system-aarch64", "-machine", "virt", "-accel", "tcg", "-cpu", "cortex-a72"}
	}
	return append(args, "-smp", "2", "-m", "1024", "-kernel", o.kernel, "-initrd", archive,
		"-append", strings.TrimSpace("console="+console+" quiet loglevel=3 panic=-1 mitigations=off nokaslr "+o.append),
		"-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio")
}
