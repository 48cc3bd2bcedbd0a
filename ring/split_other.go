//go:build !amd64

package ring

// split is splitGo where there is nothing faster.
func split(buf []byte, from int, out []uint32, mean int) int {
	return splitGo(buf, from, out, mean)
}
