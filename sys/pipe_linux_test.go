package sys

import "testing"

// TestPipeGrowTellsTheSize: what cannot be changed is told as it is.
func TestPipeGrowTellsTheSize(t *testing.T) {
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := r.Grow(1 << 18)
	if err != nil || size <= 1<<17 {
		t.Skipf("this user may not have larger pipes: %d bytes, %v", size, err)
	}
	// What holds more than was asked for cannot be made that small.
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if now, err := r.Grow(1 << 17); now != size || err != nil {
		t.Errorf("a full pipe of %d bytes has %d, %v", size, now, err)
	}
}
