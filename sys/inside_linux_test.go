package sys

import "testing"

func TestInContainer(t *testing.T) {
	for group, want := range map[string]bool{
		"/":                                      false,
		"":                                       false,
		"/user.slice/session.scope":              false,
		"/belfry-0123456789abcdef":               false, // a host's own directory
		"/belfry-0123456789abcdef/ab12":          true,
		"/a/belfry-0123456789abcdef/ab12/deeper": true,
		"/belfry-short/x":                        false,
		"/belfry-0123456789abcdeg/x":             false,
		"/other-0123456789abcdef/x":              false,
	} {
		if got := inContainer(group); got != want {
			t.Errorf("%q: %v", group, got)
		}
	}
}
