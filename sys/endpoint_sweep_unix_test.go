//go:build unix

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was killed between making its directory and being listed leaves one that
// nobody names. Who listens, or may be about to, keeps his.
func TestSweepTempEndpoints(t *testing.T) {
	live, err := ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	empty, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	made, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead := strings.Replace(made, fmt.Sprintf("%s%d-", tempPrefix, os.Getpid()),
		fmt.Sprintf("%s%d-", tempPrefix, ended.ProcessState.Pid()), 1)
	if err := os.Rename(made, dead); err != nil || made == dead {
		t.Fatal(made, dead, err)
	}
	l, err := net.Listen("unix", filepath.Join(dead, tempSocket))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	young, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(young)
	other := filepath.Join("/tmp", tempPrefix+"1-of-somebody"+filepath.Base(young))
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	old := time.Now().Add(-24 * time.Hour)
	for _, dir := range []string{TempEndpointDir(live.Name()), empty, dead, other} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	// Others on this machine may have left some of that age, and sweep as well.
	SweepTempEndpoints(12 * time.Hour)
	for dir, stays := range map[string]bool{
		TempEndpointDir(live.Name()): true, young: true, other: true, empty: false, dead: false,
	} {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) == stays {
			t.Errorf("%s stays: %v, %v", dir, stays, err)
		}
	}
}
