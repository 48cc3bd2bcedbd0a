//go:build unix

package e2e

import (
	"bufio"
	"os/exec"
	"runtime"
	"testing"
)

// burners keep every processor busy until the test ends.
func burners(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		argv := helper("burn")
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // Killed, as it says.
		})
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}
