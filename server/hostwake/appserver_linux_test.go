package hostwake

import (
	"io"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys/systest"
)

// An app-server inherits its three streams and nothing else.
func TestAppServerInherits(t *testing.T) {
	t.Parallel()
	_, argv, _ := systest.Command("fdlist")
	c, err := start(argv)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := io.ReadAll(c.out)
	c.end(newPeer(strings.NewReader(""), io.Discard, nil))
	if err != nil || string(listed) != "[0 1 2]\n" {
		t.Errorf("it has %q, %v", listed, err)
	}
}
