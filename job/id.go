package job

import (
	"crypto/rand"
	"encoding/hex"
)

// idLen is how many bytes an id has.
const idLen = 36

// newID makes a random UUID, version 4: 122 bits that nobody guesses.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var s [idLen]byte
	hex.Encode(s[0:8], b[0:4])
	s[8] = '-'
	hex.Encode(s[9:13], b[4:6])
	s[13] = '-'
	hex.Encode(s[14:18], b[6:8])
	s[18] = '-'
	hex.Encode(s[19:23], b[8:10])
	s[23] = '-'
	hex.Encode(s[24:idLen], b[10:16])
	return string(s[:])
}
