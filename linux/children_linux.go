package linux

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Children lists the children of a process, on whichever of its threads they
// hang: of task/*/children where the kernel has it (CONFIG_PROC_CHILDREN), else
// by a scan for the parent's number. A child that is born or changes parents
// meanwhile may be missing.
func Children(pid int) ([]int, error) {
	if !hasChildren.get() {
		var out []int
		err := EachStat("/proc", func(st Stat) {
			if st.PPID == pid {
				out = append(out, st.PID)
			}
		})
		return out, err
	}
	threads, err := readNames("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, tid := range threads {
		out = append(out, childrenOfThread(pid, tid)...)
	}
	return out, nil
}

func childrenOfThread(pid int, tid string) []int {
	b, err := readSmall("/proc/" + strconv.Itoa(pid) + "/task/" + tid + "/children")
	if err != nil {
		return nil // the thread is gone, and its children hang on another
	}
	return parsePIDs(b)
}

var hasChildren = fact[bool]{ask: func() (bool, error) {
	_, err := readSmall("/proc/thread-self/children")
	return settled(err == nil, err)
}}

func readNames(dir string) ([]string, error) {
	fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	return d.Readdirnames(-1)
}

// Descendants lists what descends from a process, parents before children, the
// process itself excluded. What changes parents meanwhile may be missing.
func Descendants(root int) ([]Stat, error) {
	seen := map[int]bool{root: true}
	var out []Stat
	kids, err := Children(root)
	for next := 0; err == nil; next++ {
		for _, pid := range kids {
			if st, err := ReadStat("/proc", pid); err == nil && !seen[pid] {
				seen[pid] = true
				out = append(out, st)
			}
		}
		if next == len(out) {
			break
		}
		kids = childrenOf(out[next])
	}
	return out, err
}

// EachDescendant calls f for what descends from a process, in one pass over the
// process table, which for many processes is far quicker than Descendants. Most
// are met during the pass, a parent before its children; those whose numbers are
// below their parents', after it.
func EachDescendant(root int, f func(Stat)) error {
	in := map[int]bool{root: true}
	var rest []Stat
	visit := func(st Stat) bool {
		if !in[st.PPID] || in[st.PID] {
			return false
		}
		in[st.PID] = true
		f(st)
		return true
	}
	err := EachStat("/proc", func(st Stat) {
		if !visit(st) {
			rest = append(rest, st)
		}
	})
	for more := true; more; {
		more = false
		for _, st := range rest {
			more = visit(st) || more
		}
	}
	return err
}

// childrenOf is Children that spares a list of the threads where there is one.
func childrenOf(st Stat) []int {
	if st.Dead() {
		return nil // they have another parent
	}
	if st.Threads == 1 && hasChildren.get() {
		return childrenOfThread(st.PID, strconv.Itoa(st.PID))
	}
	kids, _ := Children(st.PID) // an error means that it is gone
	return kids
}
