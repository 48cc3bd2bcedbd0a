package job

import (
	"os"
	"strings"
	"testing"
)

// The drawing that people read is the table that the code obeys.
func TestStateDrawing(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```mermaid\n"+drawing()+"```") {
		t.Errorf("ARCHITECTURE.md lacks the drawing of the state table; it must hold:\n```mermaid\n%s```", drawing())
	}
}

func TestMoves(t *testing.T) {
	for _, from := range States() {
		for _, to := range States() {
			s := from
			err := s.move(to)
			allowed := from == Starting && (to == Running || to == Killed || to == Failed) ||
				from == Running && to.Terminal()
			if allowed != (err == nil) || allowed != (s == to && from != to) {
				t.Errorf("%s to %s: %v, now %s", from, to, err, s)
			}
			if err != nil && (!strings.Contains(err.Error(), string(from)) || !strings.Contains(err.Error(), string(to))) {
				t.Errorf("the error names neither end: %v", err)
			}
		}
	}
	if State("odd").Valid() || State("odd").Terminal() {
		t.Error("an unknown state counts as one")
	}
}
