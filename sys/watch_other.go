//go:build !linux && !darwin

package sys

import "os"

func watchFile(path string) (*FileWatch, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return watchByClock(), nil
}
