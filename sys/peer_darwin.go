package sys

import "github.com/belfry-dev/belfry/darwin"

func peerOf(fd int) (pid, uid int, err error) { return darwin.Peer(fd) }
