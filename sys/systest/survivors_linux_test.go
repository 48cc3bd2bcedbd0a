package systest_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys/systest"
)

func TestSurvivors(t *testing.T) {
	const token = "SYSTEST_TOKEN=one-of-a-kind"
	cmd := command("ignore-term")
	cmd.Env = append(cmd.Env, token)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("%q %v", line, err)
	}
	found := systest.Survivors(token)
	if len(found) != 1 || found[0].PID != cmd.Process.Pid || !strings.HasSuffix(found[0].Command, "ignore-term") {
		t.Errorf("%v, want %d", found, cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if found := systest.Survivors(token); len(found) != 0 {
		t.Errorf("after its end: %v", found)
	}
}

// TestCloseStdout: the output ends while the process stays.
func TestCloseStdout(t *testing.T) {
	cmd := command("close-stdout")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(out); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
	if cmd.ProcessState != nil {
		t.Error("it ended")
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func TestFDList(t *testing.T) {
	out, err := command("fdlist").Output()
	if err != nil || string(out) != "[0 1 2]\n" {
		t.Errorf("%q %v", out, err)
	}
}
