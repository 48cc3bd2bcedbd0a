package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Jobs asks the server or run at an endpoint for its jobs.
func Jobs(ctx context.Context, endpoint, runID string) (About, []Job, error) {
	var about About
	var jobs []Job
	err := speak(ctx, endpoint, verbJobs, nil, func(c net.Conn) error {
		b := bufio.NewReaderSize(c, maxLine)
		err := hearLine(ctx, c, b, clientDeadline, &about)
		switch {
		case err != nil:
			return err
		case about.Version != jobsVersion:
			return fmt.Errorf("%w: its list has version %d, and %d is known", ErrIncompatible, about.Version, jobsVersion)
		case about.Count < 0 || about.Count > maxJobs:
			return fmt.Errorf("%w: it tells of %d jobs", ErrIncompatible, about.Count)
		}
		for range about.Count {
			var j Job
			if err := hearLine(ctx, c, b, clientDeadline, &j); err != nil {
				return err
			}
			jobs = append(jobs, j)
		}
		return sameRun(about.RunID, runID)
	})
	if err != nil {
		return About{}, nil, err
	}
	return about, jobs, nil
}

// Logs asks for a job's output, has each line heard, and gives the job as it was
// after the last. With q.Follow it lasts until the job has ended or ctx is over.
func Logs(ctx context.Context, endpoint string, q LogsQuery, heard func(Said) error) (Job, error) {
	var end Job
	err := order(ctx, endpoint, verbLogs, q, func(c net.Conn, b *bufio.Reader) error {
		patience := clientDeadline
		if q.Follow {
			patience = 0
		}
		for {
			var line struct {
				Said
				End *Job `json:"end"`
			}
			if err := hearLine(ctx, c, b, patience, &line); err != nil {
				return err
			}
			if line.End != nil {
				end = *line.End
				return nil
			}
			if err := heard(line.Said); err != nil {
				return err
			}
		}
	})
	return end, err
}

// Stop asks for the end of a job, and gives the job once it has ended. accepted
// is called as soon as it is certain that it will. The end of ctx ends the
// waiting, and nothing else.
func Stop(ctx context.Context, endpoint, runID string, o StopOrder, accepted func()) (Job, error) {
	var end Job
	err := order(ctx, endpoint, verbStop, o, func(c net.Conn, b *bufio.Reader) error {
		var a Ack
		if err := hearLine(ctx, c, b, clientDeadline, &a); err != nil {
			return err
		}
		if err := sameRun(a.RunID, runID); err != nil {
			return err
		}
		if !a.Accepted || a.Action != verbStop {
			return fmt.Errorf("%w: it did not accept %s", ErrIncompatible, verbStop)
		}
		accepted()
		var line last
		err := hearLine(ctx, c, b, 0, &line)
		end = line.End
		return err
	})
	return end, err
}

// order sends a verb with its object.
func order(ctx context.Context, endpoint, verb string, v any, hear func(net.Conn, *bufio.Reader) error) error {
	arg, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return speak(ctx, endpoint, verb+" "+string(arg), nil, func(c net.Conn) error {
		return hear(c, bufio.NewReaderSize(c, maxLine))
	})
}

// hearLine reads one line of an answer of many, for which patience is enough; 0
// is as long as it takes.
func hearLine(ctx context.Context, c net.Conn, b *bufio.Reader, patience time.Duration, into any) error {
	var until time.Time
	if patience > 0 {
		until = time.Now().Add(patience)
	}
	if err := c.SetDeadline(until); err != nil {
		return broken(ctx, err)
	}
	line, err := boundedLine(b)
	if errors.Is(err, errLongLine) {
		return fmt.Errorf("%w: a line has more than %d bytes", ErrIncompatible, maxSaid)
	}
	if err != nil {
		return broken(ctx, err)
	}
	return decode(line, into)
}

// boundedLine reads a line of at most maxSaid bytes.
func boundedLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > maxSaid {
			return nil, errLongLine
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return line, err
		}
	}
}
