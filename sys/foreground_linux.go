package sys

import "github.com/belfry-dev/belfry/linux"

func foregroundGroup(fd int) (int, error)   { return linux.ForegroundGroup(fd) }
func setForegroundGroup(fd, pgrp int) error { return linux.SetForegroundGroup(fd, pgrp) }
func sessionOf(pid int) (int, error)        { return linux.SessionOf(pid) }
