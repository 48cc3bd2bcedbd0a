// Package wire speaks the Model Context Protocol as newline-separated JSON-RPC
// 2.0 on a byte stream, both eras of it on one connection: the legacy
// handshake (revisions 2024-11-05 to 2025-11-25) and the per-request envelope
// of revision 2026-07-28.
//
// The front owns framing, request ids, cancellation and the end of the input.
// The opening exchange and the lists are answered by two go-sdk sessions
// behind it, one an era; tools/call and the methods of extensions run straight
// from the front's own tables, without the SDK's decoding on the way.
//
// The package knows nothing of jobs. Semantic versioning does not cover it.
package wire
