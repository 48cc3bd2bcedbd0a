package linux

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

func TestDescendants(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := exec.Command("/bin/sh", "-c", "(echo ready; exec sleep 60) & wait")
	c.Stdout = w
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() {
		_ = KillGroup(c.Process.Pid, syscall.SIGKILL) // it is unreaped
		_ = c.Wait()
	}()
	if _, err := r.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	kids, err := Children(os.Getpid())
	if err != nil || !slices.Contains(kids, c.Process.Pid) {
		t.Errorf("children %v, %v: want %d among them", kids, err, c.Process.Pid)
	}
	all, err := Descendants(c.Process.Pid)
	if err != nil || len(all) != 1 || all[0].PPID != c.Process.Pid {
		t.Errorf("descendants of the shell: %+v, %v", all, err)
	}
	var each []int
	if err := EachDescendant(c.Process.Pid, func(st Stat) { each = append(each, st.PID) }); err != nil || len(each) != 1 || each[0] != all[0].PID {
		t.Errorf("each descendant: %v, %v", each, err)
	}
}
