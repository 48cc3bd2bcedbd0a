package sys

import "github.com/belfry-dev/belfry/darwin"

func pipeBuffered(fd int) (int, error) { return darwin.PipeBuffered(fd) }

// macOS sizes its pipes itself.
func pipeGrow(int, int) int { return 0 }
