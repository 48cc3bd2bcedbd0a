package ring

import "testing"

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain":                    "plain",
		"é漢😀":                      "é漢😀",
		"ok\xff\xfeend":            "ok\uFFFD\uFFFDend",
		"\xe6\xbc":                 "\uFFFD",
		"\xe6\xbcx":                "\uFFFDx",
		"\xf0\x9f\x98x":            "\uFFFDx",
		"\xf0\x80\x80\x80":         "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\x80":             "\uFFFD\uFFFD\uFFFD",
		"\xc0\xaf\xe0\x80\xbf":     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf4\x91\x92\x93\xffA":    "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA",
		"\xf1\x80\xe1\x80\xc2A":    "\uFFFD\uFFFD\uFFFDA",
		"\u6f22\xe6\xbc\u6f22\x00": "\u6f22\uFFFD\u6f22\x00",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
		if got := whatwg([]byte(in)); got != want {
			t.Errorf("the model has %q for %q, want %q", got, in, want)
		}
	}
}

func TestCutAt(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want int
	}{
		{"aaaaaaaa", 5, 5},
		{"aaaa漢", 4, 4},
		{"aaaa漢", 5, 4},
		{"aaaa漢", 6, 4},
		{"aaaa漢b", 7, 7},
		{"aaaa😀b", 7, 4},
		{"aaa\xf0\x9fb", 5, 5},    // the character is broken already
		{"aaa\xf0\x9f\x98", 5, 3}, // it may become one
		{"\x80\x80\x80\x80\x80\x80", 5, 5},
		{"aaaé\x80\x80", 5, 5},
		{"aé\x80\x80\x80\x80", 4, 4},
	} {
		if got := cutAt([]byte(c.in), c.max); got != c.want {
			t.Errorf("cutAt(%q, %d) = %d, want %d", c.in, c.max, got, c.want)
		}
		if got := modelCut([]byte(c.in), c.max); got != c.want {
			t.Errorf("the model cuts %q at %d, want %d", c.in, got, c.want)
		}
	}
}
