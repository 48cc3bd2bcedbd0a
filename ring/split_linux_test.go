package ring

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// fenced gives a page of memory between two that fault when touched.
func fenced(t *testing.T) []byte {
	page := os.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{m[:page], m[2*page:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return m[page : 2*page]
}

// TestSplitStaysInside: no way reads a byte before or behind its buffer or writes
// an entry behind out. A touch of a fence ends the test binary.
func TestSplitStaysInside(t *testing.T) {
	text, index := fenced(t), fenced(t)
	for i := range text {
		text[i] = '\n'
	}
	for _, s := range splitters() {
		for n := s.least; n <= 200; n++ {
			for _, buf := range [][]byte{text[:n], text[len(text)-n:]} {
				for _, room := range []int{1, 3, 4, 5, 63, 64, 65, 200} {
					out := unsafe.Slice((*uint32)(unsafe.Pointer(&index[len(index)-4*room])), room)
					for from := range n + 1 {
						if k := s.split(buf, from, out); k != min(n-from, room) {
							t.Fatalf("%s: %d of %d bytes from %d with room for %d", s.name, k, n, from, room)
						}
					}
				}
			}
		}
	}
}
