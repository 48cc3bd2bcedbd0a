package sys

import (
	"encoding/binary"
	"errors"
)

// order is what a shim starts.
type order struct {
	Path, Dir string
	Argv, Env []string
	Approved  FileStamp
	Umask     *int // nil: the shim's own
	Terminal  bool // descriptor 0 becomes the controlling terminal
	Strict    bool // in a pid namespace of its own
	Mark      uint64
}

var errOrder = errors.New("not an order")

func (o *order) encode() []byte {
	size := 128 + len(o.Path) + len(o.Dir)
	for _, list := range [2][]string{o.Argv, o.Env} {
		for _, s := range list {
			size += len(s) + 2
		}
	}
	b := make([]byte, 0, size)
	b = appendString(appendString(b, o.Path), o.Dir)
	b = appendStrings(appendStrings(b, o.Argv), o.Env)
	b = binary.AppendUvarint(b, o.Approved.Dev)
	b = binary.AppendUvarint(b, o.Approved.Inode)
	b = binary.AppendVarint(b, o.Approved.Size)
	b = binary.AppendVarint(b, o.Approved.Change)
	mask := int64(noUmask)
	if o.Umask != nil {
		mask = int64(*o.Umask)
	}
	b = binary.AppendVarint(b, mask)
	b = append(b, flag(o.Terminal), flag(o.Strict))
	return binary.AppendUvarint(b, o.Mark)
}

func decodeOrder(b []byte) (*order, error) {
	r := orderReader{rest: b}
	var o order
	o.Path, o.Dir = r.text(), r.text()
	o.Argv, o.Env = r.texts(), r.texts()
	o.Approved.Dev, o.Approved.Inode = r.number(), r.number()
	o.Approved.Size, o.Approved.Change = r.signed(), r.signed()
	o.Umask = r.umask()
	o.Terminal, o.Strict = r.flag(), r.flag()
	o.Mark = r.number()
	if r.bad || len(r.rest) > 0 {
		return nil, errOrder
	}
	return &o, nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// orderReader takes fields off the front; bad once one is not there.
type orderReader struct {
	rest []byte
	bad  bool
}

func (r *orderReader) take(n int) []byte {
	if n <= 0 || n > len(r.rest) {
		r.bad = r.bad || n != 0
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *orderReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.take(max(size, -1))
	r.bad = r.bad || size <= 0
	return n
}

func (r *orderReader) signed() int64 {
	n, size := binary.Varint(r.rest)
	r.take(max(size, -1))
	r.bad = r.bad || size <= 0
	return n
}

// noUmask stands for none.
const noUmask = -1

func (r *orderReader) umask() *int {
	n := r.signed()
	if n == noUmask {
		return nil
	}
	r.bad = r.bad || n < 0 || n > 0o777
	mask := int(n)
	return &mask
}

// length reads one that the rest can hold.
func (r *orderReader) length() int {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *orderReader) text() string { return string(r.take(r.length())) }

func (r *orderReader) texts() []string {
	n := r.length()
	out := make([]string, 0, n)
	for range n {
		if r.bad {
			return nil
		}
		out = append(out, r.text())
	}
	return out
}

func (r *orderReader) flag() bool {
	b := r.take(1)
	r.bad = r.bad || len(b) != 1 || b[0] > 1
	return len(b) == 1 && b[0] == 1
}
