package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// errTwice refuses an option that may be given once.
var errTwice = errors.New("is given twice")

// once is an option that may be given once. Its value is read after the command
// line was understood, so that no parser's message repeats it.
type once struct {
	text  string
	given bool
}

// option adds one to a command. kind is how its value is called in the help.
func option(cmd *cobra.Command, name, kind, usage string) *once {
	o := &once{}
	cmd.Flags().Var(typed{o, kind}, name, usage)
	return o
}

// switchOption adds one that has no value.
func switchOption(cmd *cobra.Command, name, usage string) *once {
	o := &once{}
	cmd.Flags().Var(typed{o, "bool"}, name, usage)
	cmd.Flags().Lookup(name).NoOptDefVal = "true"
	return o
}

// shortOption and shortSwitch are such with a letter as well.
func shortOption(cmd *cobra.Command, name, letter, kind, usage string) *once {
	o := &once{}
	cmd.Flags().VarP(typed{o, kind}, name, letter, usage)
	return o
}

func shortSwitch(cmd *cobra.Command, name, letter, usage string) *once {
	o := &once{}
	cmd.Flags().VarP(typed{o, "bool"}, name, letter, usage)
	cmd.Flags().Lookup(name).NoOptDefVal = "true"
	return o
}

// repeated is an option that may be given often; each value is kept.
type repeated struct{ texts []string }

func repeatable(cmd *cobra.Command, name, kind, usage string) *repeated {
	r := &repeated{}
	cmd.Flags().Var(typedList{r, kind}, name, usage)
	return r
}

// typed and typedList are what the parser of the command line sees.
type typed struct {
	*once
	kind string
}

func (t typed) String() string {
	if t.once == nil {
		return ""
	}
	return t.text
}
func (t typed) Type() string { return t.kind }
func (t typed) Set(s string) error {
	switch {
	case t.given:
		return errTwice
	case t.kind == "bool" && s != "true":
		return errors.New("takes no value")
	}
	t.text, t.given = s, true
	return nil
}

type typedList struct {
	*repeated
	kind string
}

func (t typedList) String() string {
	if t.repeated == nil {
		return ""
	}
	return strings.Join(t.texts, " ")
}
func (t typedList) Type() string { return t.kind }
func (t typedList) Set(s string) error {
	t.texts = append(t.texts, s)
	return nil
}

// readOption reads the value of an option that was given.
func readOption[T any](o *once, name string, read func(string) (T, error), into *T) error {
	if !o.given {
		return nil
	}
	v, err := read(o.text)
	if err != nil {
		return usage("", "--%s: %w", name, err)
	}
	*into = v
	return nil
}
