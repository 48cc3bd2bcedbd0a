// Package client is a small MCP client for a server on the other end of two
// byte streams, one JSON object a line: as much of the protocol as it takes to
// drive belfry's tools from a Go program. It stands on the standard library
// alone. The tests, the benchmarks and the demo use it; semver does not cover
// it.
//
// Start runs a server, Open does the handshake, Tool calls a tool and waits
// for its answer, Send and SendTool leave the waiting to the caller.
package client
