package sys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// A tree has the umask that it was given, on every rung, and this process keeps
// its own.
func TestUmask(t *testing.T) {
	own, ok := sys.Umask()
	if !ok {
		t.Fatal("no umask")
	}
	other := 0o024
	if own == other {
		other = 0o042
	}
	none := 0
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			for _, mask := range []*int{nil, &own, &other, &none} {
				want := own
				if mask != nil {
					want = *mask
				}
				r := startSpec(t, h, func(w *os.File) sys.Spec {
					sp := specOf(t, w, nil, "exit", "0")
					sp.Path, sp.Argv, sp.Umask = "/bin/sh", []string{"sh", "-c", "umask"}, mask
					return sp
				})
				if got := strings.TrimSpace(r.all(t)); got != fmt.Sprintf("%04o", want) {
					t.Errorf("umask %s, want %04o", got, want)
				}
			}
			bad := 0o1000
			null, err := nullFile(t)
			if err != nil {
				t.Fatal(err)
			}
			sp := specOf(t, null, nil, "exit", "0")
			sp.Umask = &bad
			if tree, err := h.Start(t.Context(), sp); err == nil {
				tree.Release()
				t.Error("started with a umask of 01000")
			}
		})
	}
	if now, _ := sys.Umask(); now != own {
		t.Errorf("this process has umask %04o, had %04o", now, own)
	}
}
