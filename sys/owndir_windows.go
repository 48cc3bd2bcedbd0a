package sys

import "github.com/belfry-dev/belfry/windows"

func ownDir(dir string) error {
	if err := windows.MakePrivateDir(dir); err != nil {
		return err
	}
	return windows.SetPrivate(dir)
}
