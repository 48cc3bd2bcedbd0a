package job

import (
	"context"

	"github.com/belfry-dev/belfry/sys"
)

// Launcher starts work: the seam to an engine. A [sys.Host] is the one for
// this machine; another engine answers with trees of its own.
type Launcher interface {
	// Start starts one tree or nothing. A *sys.StartError names the cause.
	Start(ctx context.Context, sp sys.Spec) (sys.Tree, error)
}
