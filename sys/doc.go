// Package sys starts, watches and ends process trees the same way on every
// operating system.
package sys
