package runner

import "time"

// shortText is the most bytes that are kept of a text that made a line too long.
const shortText = 1000

// shorter is an event with less in it, for a line that would be longer than a
// reader takes, and what was left out of it; "" where there is nothing more to
// leave out.
func shorter(e Event) (Event, string) {
	switch e := e.(type) {
	case RunStarted:
		out := e.shorten()
		return e, out
	case RunStartedDetail:
		out := e.shorten()
		return e, out
	case MembersSnapshot:
		if len(e.Members) > 0 {
			// As unread as what could not be read.
			return MembersSnapshot{e.Reason, true, e.Members[:len(e.Members)/2]}, "members"
		}
	case SpawnFailed:
		if len(e.Message) > shortText {
			e.Message = e.Message[:shortText]
			return e, "a part of the message"
		}
	}
	return e, ""
}

func (e *RunStarted) shorten() string {
	switch {
	case e.Command.Argv != nil:
		e.Command.Argv, e.Command.Redacted = nil, true
		return "the arguments"
	case len(e.Labels) > 0:
		e.Labels = map[string]string{}
		return "the labels"
	}
	return ""
}

// encodeShort makes the line of an event, and of a shorter one where that is
// longer than MaxLine. It also tells what was left out, "" for nothing.
func encodeShort(version int, e Event) (line []byte, left string, err error) {
	at := time.Now()
	for {
		line, err = Encode(version, at, e)
		if err != nil || len(line) <= MaxLine+len("\n") {
			return line, left, err
		}
		less, out := shorter(e)
		if out == "" {
			return line, left, errLong
		}
		e, left = less, out
	}
}
