package linux

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestWaitPeek(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{}},
		{"exit 7", Exit{Code: 7}},
		{"kill -TERM $$", Exit{Signal: syscall.SIGTERM}},
	} {
		pid, fd := spawn(t, "/bin/sh", "-c", c.script)
		for range 2 { // looking changes nothing
			e := awaitExit(t, fd)
			if e.Usage.MaxRSS <= 0 {
				t.Errorf("%s: usage %+v", c.script, e.Usage)
			}
			e.Usage = Rusage{}
			if e != c.want {
				t.Errorf("%s: %+v", c.script, e)
			}
		}
		st, err := ReadStat("/proc", pid)
		if err != nil || !st.Dead() || st.Pgrp != pid || st.Session != pid {
			t.Errorf("held leader: %+v %v", st, err)
		}
		if !PidfdExited(fd) {
			t.Error("its pidfd does not show the end")
		}
		if _, ok, err := Reap(fd); !ok || err != nil {
			t.Errorf("reap: %v %v", ok, err)
		}
		if _, _, err := Reap(fd); err != syscall.ECHILD {
			t.Errorf("second reap: %v", err)
		}
	}
	_, fd := spawn(t, "/bin/sleep", "60")
	if _, ok, err := WaitPeek(fd); ok || err != nil {
		t.Errorf("running: %v %v", ok, err)
	}
	if PidfdExited(fd) {
		t.Error("running: shown as ended")
	}
}

// TestUsageCountsStorage: what waiting for a child tells of its storage is what
// /proc tells.
func TestUsageCountsStorage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	pid, fd := spawn(t, "/bin/sh", "-c", "dd if=/dev/zero of="+file+" bs=4096 count=64 conv=fsync 2>/dev/null; cat "+file+" >/dev/null")
	e := awaitExit(t, fd)
	r, w, err := ReadIO(pid)
	if err != nil {
		if e.Usage.Read != -1 || e.Usage.Written != -1 {
			t.Errorf("%+v, though nothing is counted here", e.Usage)
		}
		t.Skip(err)
	}
	if e.Usage.Read/sector != r/sector || e.Usage.Written/sector != w/sector {
		t.Errorf("%+v, read as %d and %d", e.Usage, r, w)
	}
}
