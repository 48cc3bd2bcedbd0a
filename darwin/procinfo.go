package darwin

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Unique identifies a process for as long as the system runs: unlike a pid the
// numbers are never handed out again. Exec does not change them, and Parent
// stays when the parent ends (p_uniqueid and p_puniqueid of
// bsd/sys/proc_internal.h).
type Unique struct {
	ID     uint64
	Parent uint64 // of the process that forked this one
}

// uniqueSize is the length of struct proc_uniqidentifierinfo: 16 bytes of image
// UUID, the two ids, a 32-bit id version and reserved words.
const uniqueSize = 56

// DecodeUnique reads a struct proc_uniqidentifierinfo.
func DecodeUnique(b []byte) (Unique, error) {
	if len(b) < uniqueSize {
		return Unique{}, fmt.Errorf("decode proc_uniqidentifierinfo: %d bytes, want %d", len(b), uniqueSize)
	}
	u := Unique{
		ID:     binary.LittleEndian.Uint64(b[16:]),
		Parent: binary.LittleEndian.Uint64(b[24:]),
	}
	if u.ID == 0 {
		return Unique{}, fmt.Errorf("decode proc_uniqidentifierinfo: the id is 0")
	}
	return u, nil
}

// Rusage is what one process has used.
type Rusage struct {
	CPU           time.Duration // user and system time, waited-for children included
	PeakFootprint int64         // bytes: the most that Activity Monitor's figure ever was
	DiskRead      int64         // bytes from storage
	DiskWritten   int64         // bytes to storage
}

// rusageSize is the length of struct rusage_info_v4 (macOS 10.12): a 16-byte
// UUID and 35 64-bit numbers.
const rusageSize = 16 + 8*35

// DecodeRusage reads a struct rusage_info_v4. Its times are in ticks of the
// system's time base, of which there are ticksPerSecond (hw.tbfrequency:
// 1,000,000,000 on Intel, 24,000,000 on Apple silicon).
func DecodeRusage(b []byte, ticksPerSecond uint64) (Rusage, error) {
	if len(b) < rusageSize {
		return Rusage{}, fmt.Errorf("decode rusage_info_v4: %d bytes, want %d", len(b), rusageSize)
	}
	if ticksPerSecond == 0 {
		return Rusage{}, fmt.Errorf("decode rusage_info_v4: no time base")
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[16+8*i:]) }
	const (
		userTime, systemTime           = 0, 1
		childUserTime, childSystemTime = 10, 11
		diskRead, diskWritten          = 16, 17
		peakFootprint                  = 28
	)
	ticks := word(userTime) + word(systemTime) + word(childUserTime) + word(childSystemTime)
	return Rusage{
		CPU:           ticksToDuration(ticks, ticksPerSecond),
		PeakFootprint: int64(word(peakFootprint)),
		DiskRead:      int64(word(diskRead)),
		DiskWritten:   int64(word(diskWritten)),
	}, nil
}

// ticksToDuration divides before it multiplies, so that centuries of ticks do
// not overflow.
func ticksToDuration(ticks, perSecond uint64) time.Duration {
	whole, rest := ticks/perSecond, ticks%perSecond
	return time.Duration(whole)*time.Second + time.Duration(rest*uint64(time.Second)/perSecond)
}
