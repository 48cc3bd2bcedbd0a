// Compare measures belfry next to what one would use in its place, in turns and
// in one run, and writes tables and plots.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == roleWord {
		os.Exit(playRole(os.Args[2:]))
	}
	os.Exit(compare(os.Args[1:], os.Stderr))
}

const usage = `compare measures belfry next to cat, loops in Go, node and other job servers.

usage: compare -belfry PATH [-peer NAME=COMMAND]... [-only SECTION,...] [-rounds N]
               [-out DIR] [-readme FILE]

A peer is any server of the same seven tools on standard input and output, a line
for sh in which {policy} becomes the path of a file {"allow":[...]}. Its answers may
be text alone; its processor time and memory are those of the process that the line
becomes, so a wrapper must exec it. Sections are ingest, follow, run, kill, start and
scale.

`

// peers are the servers of -peer flags.
type peers []server

func (p *peers) String() string { return "" }

func (p *peers) Set(text string) error {
	name, command, found := strings.Cut(text, "=")
	if !found || name == "" || command == "" {
		return errors.New("want NAME=COMMAND")
	}
	if name == "belfry" {
		return errors.New("a peer needs another name than belfry")
	}
	*p = append(*p, server{name, command})
	return nil
}

func compare(args []string, to io.Writer) int {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(to)
	var others peers
	binary := flags.String("belfry", "", "the belfry `binary` to measure")
	flags.Var(&others, "peer", "another server, `NAME=COMMAND`; may be repeated")
	only := flags.String("only", "", "the `sections` to run, with commas between; all if empty")
	count := flags.Int("rounds", 20, "`rounds` of each comparison")
	out := flags.String("out", "", "write report.md and plots to this `folder`; standard output if empty")
	readme := flags.String("readme", "", "put the main figures between the marks in this `file`")
	flags.Usage = func() {
		fmt.Fprint(to, usage)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *binary == "" || flags.NArg() > 0 || *count < 1:
		fmt.Fprintln(to, "compare: -belfry is needed, -rounds is at least 1, and there are no other arguments")
		return 2
	}
	p := &report{
		binary:  *binary,
		servers: append([]server{{"belfry", "'" + *binary + "' mcp --policy {policy}"}}, others...),
		rounds:  *count,
		load:    loadAverage(),
		to:      to,
		say:     func(f string, v ...any) { fmt.Fprintf(to, f+"\n", v...) },
	}
	if err := p.choose(*only); err != nil {
		fmt.Fprintln(to, "compare:", err)
		return 2
	}
	if err := p.measure(*out, *readme); err != nil {
		fmt.Fprintln(to, "compare:", err)
		return 1
	}
	return 0
}

// measure runs the comparisons and then writes what they found.
func (p *report) measure(out, readme string) error {
	if readme != "" {
		if _, _, err := marked(readme); err != nil {
			return err
		}
	}
	end, err := interruptible(p.to)
	if err != nil {
		return err
	}
	err = p.run()
	end()
	if err == nil {
		err = p.ours()
	}
	if err == nil {
		err = p.write(out, os.Stdout)
	}
	if err == nil && readme != "" {
		err = p.intoReadme(readme)
	}
	return err
}
