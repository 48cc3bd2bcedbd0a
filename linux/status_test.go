package linux

import "testing"

func TestStatusBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"Name:\tsh\nVmPeak:\t    9000 kB\nVmHWM:\t    1234 kB\n", 1234 * 1024, true},
		{"VmHWM:\t0 kB", 0, true},
		{"VmHWM:\t9007199254740991 kB\n", 9007199254740991 * 1024, true},
		{"VmHWM:\t9007199254740992 kB\n", 0, false},
		{"VmHWM:\t-1 kB\n", 0, false},
		{"VmHWM:\t1 MB\n", 0, false},
		{"VmHWM:\t1\n", 0, false},
		{"VmHWM:\tx kB\n", 0, false},
		{"Name:\tVmHWM: 1 kB\n", 0, false},
		{"VmHWMX:\t1 kB\n", 0, false},
		{"Name:\tsh\n", 0, false},
		{"", 0, false},
	} {
		if got, ok := StatusBytes([]byte(c.text), "VmHWM"); got != c.want || ok != c.ok {
			t.Errorf("%q: %d %v", c.text, got, ok)
		}
	}
}

func FuzzStatusBytes(f *testing.F) {
	for _, text := range []string{"Name:\tsh\nVmHWM:\t    1234 kB\n", "VmHWM:", "VmHWM:\t99999999999999999999 kB\n", ":\n"} {
		f.Add([]byte(text), "VmHWM")
	}
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		if n, ok := StatusBytes(b, key); n < 0 || n%1024 != 0 || !ok && n != 0 {
			t.Errorf("%q: %d %v", b, n, ok)
		}
	})
}
