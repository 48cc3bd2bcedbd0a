//go:build unix && !linux

package sys

func moreSignals() []namedSignal { return nil }
