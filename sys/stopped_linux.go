package sys

import "github.com/belfry-dev/belfry/linux"

func stopped(id ID) bool {
	st, err := linux.ReadStat("/proc", id.PID)
	return err == nil && st.Start == id.Birth && st.Stopped()
}
