package linux

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestHeldStat: what is held tells of its process alone, to its end and not beyond.
func TestHeldStat(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := os.StartProcess("/bin/cat", []string{"cat"}, &os.ProcAttr{Files: []*os.File{r, nil, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := ReadStat("/proc", p.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := HoldStat(p.Pid, st.Start+1); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("one that started later: %v, %v", h, err)
	}
	h, err := HoldStat(p.Pid, st.Start)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if now, err := h.Read(); err != nil || now.PID != p.Pid || now.Dead() || now.Stopped() {
		t.Errorf("while it lives: %+v, %v", now, err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for now, err := h.Read(); !now.Stopped(); now, err = h.Read() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if now, err := h.Read(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after its end: %+v, %v", now, err)
	}
	if h, err := HoldStat(p.Pid, st.Start); err == nil {
		t.Errorf("%v was held after its end", h)
	}
}
