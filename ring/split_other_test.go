//go:build !amd64

package ring

func moreSplitters() []splitter { return nil }
