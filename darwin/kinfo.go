package darwin

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// KinfoSize is the length of one kinfo_proc record in bytes, on amd64 and arm64.
const KinfoSize = 648

// Offsets inside a kinfo_proc record (kp_proc at 0, kp_eproc at 296). The
// darwin build compares each with the structure of x/sys.
const (
	offStartSec  = 0   // p_starttime.tv_sec, 8 bytes
	offStartUsec = 8   // p_starttime.tv_usec, 4 bytes
	offStat      = 36  // p_stat, 1 byte
	offPID       = 40  // p_pid
	offComm      = 243 // p_comm, 17 bytes with the NUL
	offXstat     = 280 // p_xstat, 2 bytes
	offPPID      = 560 // e_ppid
	offPGID      = 564 // e_pgid

	commSize = 17
)

// State is p_stat of <sys/proc.h>.
type State uint8

// The states of a process.
const (
	Idle     State = 1 // SIDL: being created
	Running  State = 2 // SRUN
	Sleeping State = 3 // SSLEEP
	Stopped  State = 4 // SSTOP: by a signal or a debugger
	Zombie   State = 5 // SZOMB: ended, not yet reaped
)

// Kinfo is the part of a kinfo_proc record that identifies and places a process.
type Kinfo struct {
	PID, PPID, PGID int
	State           State
	// Start is when the process was forked, in microseconds since 1970. Exec
	// does not change it. With PID it is compared for equality, never within a
	// tolerance.
	Start uint64
	// WaitStatus is p_xstat: see Ended.
	WaitStatus uint32
	// Command is the short name, at most 16 bytes, whatever the process made of it.
	Command string
}

// tooWide stands in p_xstat for a status that does not fit: newer kernels keep
// the whole value that was given to exit, of which wait4 gives the lowest byte.
const tooWide = 0xFFFF

// Ended gives the status of a Zombie as wait4 would; known is false before the
// end, and where the record does not have it.
func (k Kinfo) Ended() (status uint32, known bool) {
	return k.WaitStatus, k.State == Zombie && k.WaitStatus != tooWide
}

// DecodeKinfo reads one kinfo_proc record. Bytes after the record are ignored.
func DecodeKinfo(b []byte) (Kinfo, error) {
	if len(b) < KinfoSize {
		return Kinfo{}, fmt.Errorf("decode kinfo_proc: %d bytes, want %d", len(b), KinfoSize)
	}
	le := binary.LittleEndian
	sec, usec := int64(le.Uint64(b[offStartSec:])), int32(le.Uint32(b[offStartUsec:]))
	const maxSec = 1 << 40 // keeps sec*1e6 far from overflow
	if sec < 0 || sec > maxSec || usec < 0 || usec >= 1_000_000 {
		return Kinfo{}, fmt.Errorf("decode kinfo_proc: start time %d s %d us is out of range", sec, usec)
	}
	comm := b[offComm : offComm+commSize]
	if i := bytes.IndexByte(comm, 0); i >= 0 {
		comm = comm[:i]
	}
	return Kinfo{
		PID:        int(int32(le.Uint32(b[offPID:]))),
		PPID:       int(int32(le.Uint32(b[offPPID:]))),
		PGID:       int(int32(le.Uint32(b[offPGID:]))),
		State:      State(b[offStat]),
		Start:      uint64(sec)*1_000_000 + uint64(usec),
		WaitStatus: uint32(le.Uint16(b[offXstat:])),
		Command:    string(comm),
	}, nil
}

// DecodeKinfos reads the records of one sysctl answer. The answer is all or
// nothing: a length that is no multiple of KinfoSize is an error, because then
// the layout is not the one known here.
func DecodeKinfos(b []byte) ([]Kinfo, error) {
	if len(b)%KinfoSize != 0 {
		return nil, fmt.Errorf("decode kinfo_proc list: %d bytes are no multiple of %d", len(b), KinfoSize)
	}
	list := make([]Kinfo, 0, len(b)/KinfoSize)
	for ; len(b) > 0; b = b[KinfoSize:] {
		k, err := DecodeKinfo(b)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}
