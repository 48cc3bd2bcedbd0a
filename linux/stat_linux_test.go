package linux

import (
	"os"
	"testing"
)

func TestEachStat(t *testing.T) {
	self := false
	if err := EachStat("/proc", func(st Stat) { self = self || st.PID == os.Getpid() }); err != nil || !self {
		t.Errorf("own process found: %v %v", self, err)
	}
	if err := EachStat("/nonexistent", nil); err == nil {
		t.Error("no error")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"7": statLine("ok"), "8": "garbage", "x": statLine("no")} {
		if err := os.Mkdir(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name+"/stat", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	if err := EachStat(dir, func(st Stat) { got = append(got, st.Comm) }); err != nil || len(got) != 1 || got[0] != "ok" {
		t.Errorf("%v %v", got, err)
	}
}

func TestExecName(t *testing.T) {
	pid, _ := spawn(t, "/bin/sleep", "60")
	if name, err := ExecName(pid); err != nil || name != "/bin/sleep" {
		t.Errorf("%q %v", name, err)
	}
	if name, err := ExecName(1 << 30); err == nil {
		t.Errorf("nobody's is %q", name)
	}
}
