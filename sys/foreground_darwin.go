package sys

import "github.com/belfry-dev/belfry/darwin"

func foregroundGroup(fd int) (int, error)   { return darwin.ForegroundGroup(fd) }
func setForegroundGroup(fd, pgrp int) error { return darwin.SetForegroundGroup(fd, pgrp) }
func sessionOf(pid int) (int, error)        { return darwin.SessionOf(pid) }
