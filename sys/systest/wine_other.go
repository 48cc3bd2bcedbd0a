//go:build !windows

package systest

func underWine() bool { return false }
