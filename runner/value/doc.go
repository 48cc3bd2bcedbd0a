// Package value reads the values of the command line and of files that take the
// same ones: durations, sizes, environment entries, labels, run ids. It is pure
// and knows no flag. An error says what the value should look like; it never
// repeats what may be a secret.
package value
