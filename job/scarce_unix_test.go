//go:build unix

package job

import (
	"os"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// Without a descriptor to read the policy with nothing is decided: the job is
// refused for want of one, not by the policy, and the next one runs.
func TestPolicyWithoutDescriptors(t *testing.T) {
	tree := newFakeTree()
	s, sp := fakeStore(t, Config{}, tree)
	defer s.Close(t.Context())
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = min(was.Cur, 128)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	j, err := s.Run(t.Context(), sp)
	for _, f := range taken {
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	snap := j.Snapshot()
	want(t, "ended by", snap.EndedBy, BySpawnFailed)
	if d := snap.Diagnostic; d == nil || d.Code != string(sys.CodeResourcesExhausted) {
		t.Errorf("%+v", d)
	}
	next := mustRun(t, s, sp)
	tree.all(0, 0)
	<-next.Done()
	want(t, "the next one", next.Snapshot().State, Exited)
}
