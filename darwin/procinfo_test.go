package darwin

import (
	"encoding/binary"
	"testing"
	"time"
)

func TestDecodeUnique(t *testing.T) {
	b := make([]byte, uniqueSize)
	for i := range b {
		b[i] = 0xEE
	}
	binary.LittleEndian.PutUint64(b[16:], 1<<40+5)
	binary.LittleEndian.PutUint64(b[24:], 77)
	got, err := DecodeUnique(b)
	if want := (Unique{ID: 1<<40 + 5, Parent: 77}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := DecodeUnique(b[:uniqueSize-1]); err == nil {
		t.Error("a short record was accepted")
	}
	if _, err := DecodeUnique(make([]byte, uniqueSize)); err == nil {
		t.Error("an id of 0 was accepted")
	}
}

func TestDecodeRusage(t *testing.T) {
	b := make([]byte, rusageSize)
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(b[16+8*i:], v) }
	for i := range 35 {
		word(i, 0xDEAD0000+uint64(i))
	}
	word(0, 24_000_000)  // one second of user time on Apple silicon
	word(1, 12_000_000)  // half a second of system time
	word(10, 48_000_000) // two seconds of the children's
	word(11, 0)
	word(16, 4096)  // read
	word(17, 8192)  // written
	word(28, 3<<20) // peak footprint
	got, err := DecodeRusage(b, 24_000_000)
	want := Rusage{CPU: 3500 * time.Millisecond, PeakFootprint: 3 << 20, DiskRead: 4096, DiskWritten: 8192}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, err := DecodeRusage(b, 1_000_000_000); err != nil || got.CPU != 84*time.Millisecond {
		t.Errorf("nanosecond time base: got %v, %v", got.CPU, err)
	}
	if _, err := DecodeRusage(b[:rusageSize-1], 1); err == nil {
		t.Error("a short record was accepted")
	}
	if _, err := DecodeRusage(b, 0); err == nil {
		t.Error("a time base of 0 was accepted")
	}
}

func TestTicksToDurationDoesNotOverflow(t *testing.T) {
	const century = 100 * 365 * 24 * 3600
	got := ticksToDuration(century*24_000_000+12_000_000, 24_000_000)
	if want := century*time.Second + 500*time.Millisecond; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
