//go:build !linux && !darwin

package sys

func stopped(ID) bool { return false }
