// Package clienttest drives the built server with clients that were not written
// here: the SDKs of the protocol, the client library of its Tasks extension, its
// inspector and its conformance suite. It consists of tests alone.
//
// They need npm, a network and 350 MB of disk, so they run only where
// BELFRY_CLIENTS is 1 (make test-clients does that) and are skipped elsewhere.
// What npm installs, at exact versions and without running its install scripts,
// is kept in BELFRY_CLIENTS_DIR, or in the user's cache folder.
package clienttest
