package sys

import (
	"strings"
	"testing"
)

func TestParseSignal(t *testing.T) {
	for _, s := range []string{"SIGTERM", "sigterm", "TERM", "term", "SigTerm"} {
		if got, err := ParseSignal(s); err != nil || got != SIGTERM {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "SIG", "15", "SIGNOPE", "SIGSIGTERM", " TERM", "TERM\n"} {
		got, err := ParseSignal(s)
		if err == nil {
			t.Errorf("%q gave %v", s, got)
		} else if !strings.Contains(err.Error(), "SIGTERM") {
			t.Errorf("%q: the error names nothing: %v", s, err)
		}
	}
}

// TestSignalNames: every name reads back as its number, and every number that
// has a name gives one that does.
func TestSignalNames(t *testing.T) {
	for _, row := range signalTable() {
		got, err := ParseSignal(row.name)
		if err != nil || got != row.num {
			t.Errorf("%s: %d %v, want %d", row.name, got, err, row.num)
		}
		if again, err := ParseSignal(row.num.String()); err != nil || again != row.num {
			t.Errorf("%d: %s reads back as %d %v", row.num, row.num, again, err)
		}
	}
	if got := Signal(63).String(); got != "SIG63" {
		t.Error(got)
	}
}
