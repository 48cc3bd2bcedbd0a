package ring

import "testing"

func moreSplitters() []splitter {
	if !haveAVX2 {
		return nil
	}
	return []splitter{{"AVX2", block, splitAVX2}}
}

// TestSplitWantsAPlace: a start outside of the buffer panics before the assembly
// could read there.
func TestSplitWantsAPlace(t *testing.T) {
	for _, from := range []int{-1, 2*block + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("split from %d of %d did not panic", from, 2*block)
				}
			}()
			split(make([]byte, 2*block), from, make([]uint32, 1), 80)
		}()
	}
}
