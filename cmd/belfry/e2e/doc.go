// Package e2e tests the built binary from outside, as a client, a system and
// an adversary see it: a server in a process of its own, driven over its
// stdin and stdout, whose jobs are looked for in the process table.
//
//	go test ./cmd/belfry/e2e
//	BELFRY_E2E_BINARY=/usr/bin/belfry go test ./cmd/belfry/e2e
//	BELFRY_ROUNDS=500 go test -run Tree ./cmd/belfry/e2e
package e2e
