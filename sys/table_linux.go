package sys

import "github.com/belfry-dev/belfry/linux"

func processes() ([]Process, error) {
	boot := linux.BootID()
	var out []Process
	err := linux.EachStat("/proc", func(st linux.Stat) {
		out = append(out, Process{
			ID:   ID{PID: st.PID, Birth: st.Start, Kind: BirthStartTicks, Boot: boot},
			PPID: st.PPID, Name: st.Comm,
		})
	})
	return out, err
}
