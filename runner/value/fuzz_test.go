package value

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30", "500ms", "1m", "2h", "99999999999999999999h", "-1", "1.5s", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Duration(s)
		if err != nil {
			return
		}
		if d < 0 || d%time.Millisecond != 0 {
			t.Fatalf("%q: %d", s, d)
		}
		if again, err := Duration(FormatDuration(d)); err != nil || again != d {
			t.Fatalf("%q is told as %s, which reads %v %v", s, FormatDuration(d), again, err)
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"1", "64k", "8G", "99999999999g", "0", "5x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := Size(s); err == nil && n < 1 {
			t.Fatalf("%q: %d", s, n)
		}
	})
}

func FuzzEnvFile(f *testing.F) {
	for _, s := range []string{"A=1\nB=2", "# c\n\nK=a=b\r\nE=", "BAD KEY=1", "\uFEFFA=1", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		vars, err := EnvFile(data)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, v := range vars {
			if CheckEnvKey(v.Key) != nil || strings.ContainsAny(v.Value, "\n\x00") {
				t.Fatalf("%q gives %+v", data, v)
			}
			if strings.HasPrefix(strings.TrimSpace(v.Key), "#") || strings.HasSuffix(v.Value, "\r") {
				return // written again it would read as something else
			}
			b.WriteString(v.Key + "=" + v.Value + "\n")
		}
		again, err := EnvFile([]byte(b.String()))
		if err != nil || len(again) != len(vars) {
			t.Fatalf("%q gives %+v, which gives %+v %v", data, vars, again, err)
		}
	})
}

func FuzzLabel(f *testing.F) {
	for _, s := range []string{"a=b", "_x.y-z=", "9=1", "a=\u202E", "=", "a=b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, v, err := Label(s)
		if err == nil && (k+"="+v != s || Human(k+v) != k+v && utf8.RuneCountInString(v) < 200 && !strings.ContainsAny(v, "\u2028\u2029")) {
			t.Fatalf("%q: %q %q", s, k, v)
		}
	})
}

func FuzzRunID(f *testing.F) {
	for _, s := range []string{"run-1", "a\nb", "\u200B", "\xff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckRunID(s) == nil && (!utf8.ValidString(s) || s == "" || strings.ContainsAny(s, "\n\r\x1b\u202E\u200B")) {
			t.Fatalf("%q", s)
		}
		if shown := Human(s); strings.ContainsAny(shown, "\n\r\x1b\u202E\u2028") || utf8.RuneCountInString(shown) > maxShown+3 {
			t.Fatalf("%q is shown as %q", s, shown)
		}
	})
}
