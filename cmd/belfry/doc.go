// Belfry runs commands in the background for AI agents and for people, each
// in a contained process tree, and keeps what they say.
//
// The rules of its output: stdout carries data, stderr talk. Talk is lower
// case, one line, without a full stop, and begins with "belfry: "; where there
// is something to do about it a "hint: " line follows. Every verb that prints
// data takes --json. Help goes to stdout with status 0; a command line that
// cannot be understood ends with status 100.
package main
