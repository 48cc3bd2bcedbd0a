package job

import (
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// The words of package ring and package sys that this package's types use, so
// that whoever stands on jobs needs neither.
type (
	Kind      = ring.Kind
	Sel       = ring.Sel
	Loss      = ring.Loss
	Stat      = ring.Stat
	BirthKind = sys.BirthKind

	Limits        = sys.Limits
	LimitRecord   = sys.LimitRecord
	LimitEvidence = sys.LimitEvidence
)

// The streams of a job, and the selections of them.
const (
	Stdout = ring.Stdout
	Stderr = ring.Stderr

	SelStdout = ring.SelStdout
	SelStderr = ring.SelStderr
	SelBoth   = ring.SelBoth
)

// What the Birth of an Identity counts.
const (
	BirthUnknown     = sys.BirthUnknown
	BirthStartTicks  = sys.BirthStartTicks
	BirthStartMicros = sys.BirthStartMicros
	BirthFiletime    = sys.BirthFiletime
)
