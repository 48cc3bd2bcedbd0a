package sys

import (
	"os"
	"slices"
	"testing"
)

// Wine gives programs SystemRoot by itself, so what is handed over is looked at.
func TestSystemRootIsAdded(t *testing.T) {
	root := "SystemRoot=" + os.Getenv("SystemRoot")
	for _, tt := range []struct{ give, want []string }{
		{nil, []string{root}},
		{[]string{"A=1"}, []string{"A=1", root}},
		{[]string{`systemroot=C:\elsewhere`}, []string{`systemroot=C:\elsewhere`}},
		{[]string{"SYSTEMROOT="}, []string{"SYSTEMROOT=", root}},
	} {
		if got, err := withSystemRoot(tt.give); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v, want %q", tt.give, got, err, tt.want)
		}
	}
}
