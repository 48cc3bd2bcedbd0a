package server

import "time"

// A job that prints so many lines a second for so long is a flood: no client
// reads that as it comes, and pushing it would only fill the connection.
const (
	floodRate = 5000
	floodSpan = 2 * time.Second
)

// flood tells when a job has become one.
type flood struct {
	at    time.Time // of the last look
	lines uint64    // seen then
	since time.Time // how long it has been fast; zero when it is not
}

// sustained takes a look: so many lines by now.
func (f *flood) sustained(now time.Time, lines uint64) bool {
	fresh := float64(max(lines, f.lines) - f.lines)
	if fresh < floodRate*now.Sub(f.at).Seconds() {
		f.since = time.Time{}
	} else if f.since.IsZero() {
		f.since = f.at
	}
	f.at, f.lines = now, max(lines, f.lines)
	return !f.since.IsZero() && now.Sub(f.since) >= floodSpan
}
