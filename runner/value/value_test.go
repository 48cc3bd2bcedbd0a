package value

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"30": 30 * time.Second, "30s": 30 * time.Second, "30000ms": 30 * time.Second, "1m": time.Minute,
		"1h": time.Hour, "0": 0, "0ms": 0, "007": 7 * time.Second,
		"5124095576030h": math.MaxInt64 / time.Millisecond * time.Millisecond,
	} {
		if got, err := Duration(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", " 5", "5 ", "-1", "+1", "1.5s", "5x", "s", "ms", "5sm", "5hs", "5mss", "1h30m", "٣",
		"99999999999999999999h", "18446744073709551616ms", "5124095576031h",
	} {
		if got, err := Duration(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	for _, s := range []string{"0", "0ms", "0h"} {
		if _, err := PositiveDuration(s); err == nil {
			t.Errorf("%q is taken for positive", s)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0ms", 5 * time.Second: "5s", 1500 * time.Millisecond: "1500ms", 250 * time.Millisecond: "250ms", 2 * time.Minute: "120s",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is told as %s", d, got)
		}
	}
}

func TestSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "1b": 1, "4096": 4096, "1k": 1024, "2K": 2048, "3m": 3 << 20, "4G": 4 << 30, "8589934591g": 8589934591 << 30,
	} {
		if got, err := Size(s); err != nil || got != want {
			t.Errorf("%q: %d %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0k", "5x", "k", "5kb", "5 k", "-1", "1.5k", "99999999999g", "8589934592g", "9223372036854775808"} {
		if got, err := Size(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
}

func TestCountAndCPUsAndBand(t *testing.T) {
	for s, want := range map[string]uint32{"1": 1, "4294967295": math.MaxUint32} {
		if got, err := Count(s); err != nil || got != want {
			t.Errorf("%q: %d %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "+1", "4294967296", "1.0", "1_0"} {
		if got, err := Count(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
	for s, want := range map[string]float64{"0.5": 0.5, "2": 2, "1e1": 10} {
		if got, err := CPUs(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0.0", "-1", "nan", "inf", "-inf", "1e400", "0x1p-2", "1_0", " 1"} {
		if got, err := CPUs(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	if a, b, err := Band("100-119"); a != 100 || b != 119 || err != nil {
		t.Errorf("%d %d %v", a, b, err)
	}
	for _, s := range []string{"", "100", "119-100", "1-256", "x", "-1-5", "1-2-3", "+1-2", " 1-2"} {
		if _, _, err := Band(s); err == nil {
			t.Errorf("%q is taken for a band", s)
		}
	}
}

func TestEnv(t *testing.T) {
	for s, want := range map[string]Var{
		"A=b": {"A", "b"}, "A=": {"A", ""}, "A=b=c": {"A", "b=c"}, "ä.b-c=1 2": {"ä.b-c", "1 2"},
	} {
		if got, err := Env(s); err != nil || got != want {
			t.Errorf("%q: %+v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "A", "=s3cret", "BAD KEY=s3cret", "A\tB=s3cret", "A\x1b=s3cret", "A=s3cret\x00"} {
		_, err := Env(s)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if err := CheckEnvKey("A=s3cret"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

func TestEnvFile(t *testing.T) {
	got, err := EnvFile([]byte("\uFEFF# first\n\n  # second\nK=a=b\r\nE=\n \t\nQ=\"x\" #y"))
	want := []Var{{"K", "a=b"}, {"E", ""}, {"Q", `"x" #y`}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	for data, text := range map[string]string{
		"A=1\nexport B=s3cret\n": "line 2:", "s3cret": "line 1:", "A=\xff": "UTF-8", "A=1\n =s3cret": "line 2:",
	} {
		_, err := EnvFile([]byte(data))
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{"a", "run 1", "ä/ö:\\", strings.Repeat("ü", 256)} {
		if err := CheckRunID(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		"", strings.Repeat("a", 257), "a\nb", "a\x7f", "\u202Eb", "a\u200B", "\u00AD", "\u0600", "\u2066", "\u2060",
		"\uFEFF", "\uFFF9", "\U0001BCA0", "\U0001D173", "\U00013430", "\U000E0041", "\u0085", "\xff",
	} {
		if err := CheckRunID(s); err == nil {
			t.Errorf("%q is taken for a run id", s)
		}
	}
	for _, s := range []string{"a=", "_=x", "A.b-c_9=1=2", strings.Repeat("k", 64) + "=" + strings.Repeat("ü", 256)} {
		if _, _, err := Label(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		"", "a", "=b", "9a=b", "-a=b", "a b=c", "ä=b", strings.Repeat("k", 65) + "=", "a=" + strings.Repeat("v", 257), "a=\n", "a=\u202E",
	} {
		if k, v, err := Label(s); err == nil {
			t.Errorf("%q: %q %q", s, k, v)
		}
	}
}

func TestHuman(t *testing.T) {
	for s, want := range map[string]string{
		"plain":                  "plain",
		"a\nb\x1b[2J\u202Ec\xff": "a b [2J c ",
		"a\u2028b":               "a b",
		"\uFFFD":                 "\uFFFD",
		strings.Repeat("ä", 256): strings.Repeat("ä", 256),
		strings.Repeat("ä", 257): strings.Repeat("ä", 256) + "...",
	} {
		if got := Human(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
