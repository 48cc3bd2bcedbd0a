package server

import (
	"time"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/job"
)

// progressEvery is how often a waiting follow says that it still waits.
const progressEvery = 8 * time.Second

// progressText is the most characters of the line that a progress shows.
const progressText = 100

// progress tells how many lines the job has printed, and the last of them. A
// progress must grow or it is not sent, and a job that is silent still has to
// be heard of: the fraction counts the reports, fewer than its denominator in
// the longest follow.
func progress(j *job.Job, said int) (value float64, message string) {
	snap := j.Snapshot()
	value = float64(snap.Counts[job.Stdout].Lines+snap.Counts[job.Stderr].Lines) + float64(said)/1024
	p := j.Tail(1, job.Query{Sel: job.SelBoth, Budget: job.MinBudget})
	if len(p.Lines) == 0 {
		return value, string(snap.State) + ", no output yet"
	}
	return value, cut(p.Lines[0].Text, progressText)
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
