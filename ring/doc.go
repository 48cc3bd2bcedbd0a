// Package ring keeps the newest lines of a job's streams in bounded memory: one
// writer a stream, any readers, nobody waits.
//
// A [Job] has two streams and one counter that numbers their lines. The goroutine
// that reads a pipe asks its [Stream] for Space, lets read(2) write there, and
// Commits; readers take pages by cursor with [Job.After] and [Job.Tail], and sleep
// in [Job.Await]. The exported names are covered by semantic versioning.
//
// # Structure
//
// A stream is a list of append-only chunks: of up to 64 KiB, and of 256 where a
// read has filled such a one, so that a reader of a flood takes much at a time. While
// it lasts a stream takes up to 1.8 times its text in memory. A chunk holds bytes
// as they were read, the offset behind each line, and runs, which give consecutive
// lines their numbers and time. A table finds chunks by a running id. What is kept is a window
// of lines that ends at the newest: the writer moves its floor by arithmetic on
// positions, takes chunks below it out of the table, and fills them again. Nothing
// is decoded when it is written; carriage returns and ill-formed UTF-8 are seen to
// in the lines of a page. So finding the newlines is most of what a line costs: on
// amd64 assembly does it 64 bytes at a time if processor and system have AVX2,
// elsewhere Go.
//
// # Why readers and writer need no lock
//
// The argument is in terms of the Go memory model: atomic operations have one
// order that all goroutines agree on, and an atomic operation that observes
// another happens after it, with all that preceded it.
//
// Publication. Bytes, line ends and runs are plain stores of the only writer, and
// precede the store of the chunk's pub word, which counts them. A reader loads pub
// and touches only what it counts. Below that nothing is written again as long as
// the reader may be in the chunk, so there is no torn line and nothing to read
// twice. The count of lines kept travels with the count of lines in one word,
// stored before pub: a reader that sees a line sees the floor that belongs to it
// or a newer one, so a page never holds more than the limits allow.
//
// Recycling. A reader adds 1 to the chunk's count of references and is in the chunk
// only if the sum is positive and the chunk has the id it looked for. The writer
// fills a chunk again only after it swapped a count of 0 for a large negative
// number. Either the reader's addition comes first, the swap fails and the chunk
// is left to the collector; or the swap comes first, the reader finds a sum that
// is not positive, takes its 1 back and looks again. The writer opens a chunk by
// adding the same large number, not by storing 0, which would wipe out the 1 of a
// reader that is just about to take it back. Release by the last reader, the swap
// and the writer's stores that follow form a chain of atomic operations, so they
// are ordered. The id is what tells a chunk from itself in a later life. The chunk
// being filled and the one with the newest line are never taken away, so a reader
// looks again only when the writer has moved on meanwhile; and the writer does the
// same steps whatever readers do. A reader that stays long costs the writer a
// fresh chunk, not a wait.
//
// Numbering. Lines get their numbers from the job's counter by one addition a
// batch, before they are published; a line of one stream can be visible while a
// lower one of the other is not yet. So a writer first stores a bound below which
// its coming numbers cannot lie, then adds, publishes, and at last stores that it
// is idle. A reader of both streams loads the counter, then both bounds, and takes
// the lowest. A line at or below the result got its number before the counter was
// read; its bound was stored before that; since the reader did not see this bound
// it saw a later store, which the writer did after publishing. So every line up
// to the result can be read, and a cursor that passes it skips none. The result
// may step back from one call to the next when a bound was computed and stored far
// apart; a cursor is the maximum of what was got and stays. A reader of one stream
// needs none of this: the order of a stream is that of its writer.
//
// Waking. A writer publishes, then loads the number of waiters. A waiter adds
// itself to that number, takes the current gate, then tests its condition, then
// sleeps. In the one order of these, either the load finds the waiter, and the gate
// it took is opened; or the load came before the addition, and with it the
// publication, which the test then sees. A gate knows the lowest seq that one of
// its waiters waits for a line above, lowered before the test, and stays shut
// while the job's counter is not beyond it; the same order holds for this word.
// Since a reader of one stream and one of both wait for different things, it is
// the counter of both that counts, and an open gate wakes everyone.
//
// Waiting text. The number of bytes in the chunk is stored before the lines among
// them are counted. A reader loads the lines first, so what it takes to be waiting
// may have been split since, and it stops at the first newline.
//
// Reclaim comes from any goroutine. A mutex keeps it apart from the writer's side;
// no reader takes that mutex. A reader in the middle of a page keeps its chunks.
package ring
