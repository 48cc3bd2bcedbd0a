package darwin

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// record builds a kinfo_proc as the kernel lays it out, every other byte noise,
// so that a decoder that reads beside its field is caught.
func record(k Kinfo, sec int64, usec int32) []byte {
	b := make([]byte, KinfoSize)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(sec))
	le.PutUint32(b[8:], uint32(usec))
	b[36] = byte(k.State)
	le.PutUint32(b[40:], uint32(int32(k.PID)))
	clear(b[243 : 243+17])
	copy(b[243:243+17], k.Command)
	le.PutUint16(b[280:], uint16(k.WaitStatus))
	le.PutUint32(b[560:], uint32(int32(k.PPID)))
	le.PutUint32(b[564:], uint32(int32(k.PGID)))
	return b
}

func TestDecodeKinfo(t *testing.T) {
	tests := []struct {
		name string
		want Kinfo
		sec  int64
		usec int32
	}{
		{"plain", Kinfo{PID: 501, PPID: 1, PGID: 501, State: Sleeping, Start: 1_700_000_000_123_456, Command: "sleep"}, 1_700_000_000, 123456},
		{"zombie with exit 7", Kinfo{PID: 99998, PPID: 40, PGID: 99998, State: Zombie, Start: 1_000_001, WaitStatus: 7 << 8, Command: "sh"}, 1, 1},
		{"killed", Kinfo{PID: 2, PPID: 1, PGID: 2, State: Zombie, Start: 999_999, WaitStatus: 9}, 0, 999999},
		{"longest name", Kinfo{PID: 3, PPID: 2, PGID: 2, State: Running, Start: 5, Command: "abcdefghijklmnop"}, 0, 5},
		{"name of odd bytes", Kinfo{PID: 3, PPID: 2, PGID: 2, State: Stopped, Start: 5, Command: "a) R 1\n\xff"}, 0, 5},
		{"kernel", Kinfo{PID: 0, PPID: 0, PGID: 0, State: Running, Start: 0, Command: "kernel_task"}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeKinfo(record(tt.want, tt.sec, tt.usec))
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestDecodeKinfoUnterminatedName(t *testing.T) {
	b := record(Kinfo{PID: 1}, 0, 0)
	copy(b[243:], strings.Repeat("x", 17))
	k, err := DecodeKinfo(b)
	if err != nil || k.Command != strings.Repeat("x", 17) {
		t.Errorf("got %q, %v", k.Command, err)
	}
}

func TestDecodeKinfoRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":            nil,
		"short":            make([]byte, KinfoSize-1),
		"negative seconds": record(Kinfo{}, -1, 0),
		"endless seconds":  record(Kinfo{}, 1<<62, 0),
		"usec too large":   record(Kinfo{}, 1, 1_000_000),
		"usec negative":    record(Kinfo{}, 1, -1),
	} {
		if k, err := DecodeKinfo(b); err == nil {
			t.Errorf("%s: decoded as %+v", name, k)
		}
	}
}

func TestDecodeKinfos(t *testing.T) {
	a := Kinfo{PID: 10, PPID: 1, PGID: 10, State: Running, Start: 1, Command: "a"}
	b := Kinfo{PID: 11, PPID: 10, PGID: 10, State: Zombie, Start: 2, Command: "b"}
	raw := append(record(a, 0, 1), record(b, 0, 2)...)
	got, err := DecodeKinfos(raw)
	if err != nil || !slices.Equal(got, []Kinfo{a, b}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeKinfos(nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: got %+v, %v", got, err)
	}
	if _, err := DecodeKinfos(raw[:len(raw)-1]); err == nil {
		t.Error("a cut list was accepted")
	}
}

func FuzzDecodeKinfos(f *testing.F) {
	f.Add(record(Kinfo{PID: 7, Command: "x"}, 3, 4))
	f.Add([]byte{})
	f.Add(make([]byte, 2*KinfoSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := DecodeKinfos(b)
		if err != nil {
			if list != nil {
				t.Fatal("an error came with records")
			}
			return
		}
		if len(list)*KinfoSize != len(b) {
			t.Fatalf("%d records of %d bytes", len(list), len(b))
		}
		for _, k := range list {
			if len(k.Command) > commSize || strings.ContainsRune(k.Command, 0) {
				t.Fatalf("command %q", k.Command)
			}
		}
	})
}

func TestKinfoEnded(t *testing.T) {
	for _, c := range []struct {
		k     Kinfo
		known bool
	}{
		{Kinfo{State: Zombie, WaitStatus: 7 << 8}, true},
		{Kinfo{State: Zombie, WaitStatus: 9}, true},
		{Kinfo{State: Zombie, WaitStatus: 0xFF00}, true},  // exit(-1)
		{Kinfo{State: Zombie, WaitStatus: 0xFFFF}, false}, // exit(256)
		{Kinfo{State: Running}, false},
	} {
		if status, known := c.k.Ended(); known != c.known || status != c.k.WaitStatus {
			t.Errorf("%+v: %#x %v", c.k, status, known)
		}
	}
}
