package job

import "time"

// Config is what a store runs by. Its zero value, with a Launcher, works and
// denies every command, since it names no policy.
type Config struct {
	Launcher Launcher
	Detacher Detacher // nil: no job can be detached
	Policy   PolicyFile
	Base     Base
	// Dir is where relative working directories start; "" is the process's own.
	Dir string
	// Roots, when not empty, confine working directories: the real path of one
	// must lie in the real path of a root.
	Roots []string

	// MaxRunning is the number of slots; MaxQueue how many jobs may wait for
	// one. Nil means the default, 8 and 32; 0 slots reject every job.
	MaxRunning *int
	MaxQueue   *int

	// Grace is the time between the soft stop and the hard kill; nil means 5 s,
	// 0 kills hard at once.
	Grace *time.Duration
	// ShutdownGrace is the same when the store closes; nil means 300 ms.
	ShutdownGrace *time.Duration

	// Retention is how long an ended job keeps its output, nil one hour;
	// MaxRetained how many ended jobs keep it, nil 200.
	Retention   *time.Duration
	MaxRetained *int
	// RecordTTL is how long an ended job's record is kept, nil 7 days;
	// MaxRecords how many, nil 10,000.
	RecordTTL  *time.Duration
	MaxRecords *int
}

// The bounds that no configuration changes.
const (
	hardBound    = 2 * time.Second        // from the hard kill to giving up the proof
	directBound  = 10 * time.Second       // the same of a job that is all its program has to do
	drainIdle    = 500 * time.Millisecond // after the last byte of a held pipe
	drainBound   = 2 * time.Second        // of a held pipe in all
	checkBound   = 2 * time.Second        // for a file system to answer
	stallBound   = 5 * time.Second        // for a tap that takes nothing, of a job that was ended
	spawnVerdict = 50 * time.Millisecond  // how long Run waits for the spawn before it answers
	signalWindow = time.Second            // an end within it after a custom signal is that signal's
	sweepEvery   = 30 * time.Second       // between two retention sweeps that no new job caused
)

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func (c *Config) maxRunning() int              { return or(c.MaxRunning, 8) }
func (c *Config) maxQueue() int                { return or(c.MaxQueue, 32) }
func (c *Config) grace() time.Duration         { return or(c.Grace, 5*time.Second) }
func (c *Config) shutdownGrace() time.Duration { return or(c.ShutdownGrace, 300*time.Millisecond) }
func (c *Config) retention() time.Duration     { return or(c.Retention, time.Hour) }
func (c *Config) maxRetained() int             { return or(c.MaxRetained, 200) }
func (c *Config) recordTTL() time.Duration     { return or(c.RecordTTL, 7*24*time.Hour) }
func (c *Config) maxRecords() int              { return or(c.MaxRecords, 10_000) }
