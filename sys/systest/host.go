package systest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// Host is a host that is closed at the end of the test.
func Host(t testing.TB, o sys.HostOptions) sys.Host {
	t.Helper()
	h, err := sys.NewHost(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return h
}

// Policy is the path of a policy that allows these programs and nothing else.
func Policy(t testing.TB, programs ...string) string {
	t.Helper()
	text, err := json.Marshal(map[string][]string{"allow": append([]string{}, programs...)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
