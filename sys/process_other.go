//go:build !linux

package sys

// relativesOf lists the processes that may belong to root's tree.
func relativesOf(ID) ([]relative, error) {
	all, err := processes()
	rows := make([]relative, 0, len(all))
	for _, p := range all {
		rows = append(rows, relative{Process: p})
	}
	return rows, err
}
