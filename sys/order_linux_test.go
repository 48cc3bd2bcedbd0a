package sys

import (
	"bytes"
	"math"
	"reflect"
	"testing"
)

func TestOrder(t *testing.T) {
	mask := 0o777
	for _, o := range []order{
		{Argv: []string{}, Env: []string{}},
		{Path: "/bin/true", Dir: "/", Argv: []string{"true", "", "\xff\n"}, Env: []string{"A=b", "=", ""}, Strict: true},
		{Path: "/x", Argv: []string{"x"}, Env: []string{}, Terminal: true, Umask: &mask,
			Approved: FileStamp{Dev: math.MaxUint64, Inode: 1, Size: math.MaxInt64, Change: math.MinInt64}},
	} {
		got, err := decodeOrder(o.encode())
		if err != nil || !reflect.DeepEqual(*got, o) {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
	}
}

func TestOrderRefused(t *testing.T) {
	whole := (&order{Path: "/bin/true", Dir: "/", Argv: []string{"true"}, Env: []string{"A=b"}}).encode()
	for n := range whole {
		if o, err := decodeOrder(whole[:n]); err == nil {
			t.Errorf("the first %d bytes of %d are an order: %+v", n, len(whole), o)
		}
	}
	if o, err := decodeOrder(append(whole, 0)); err == nil {
		t.Errorf("with a byte more: %+v", o)
	}
}

// FuzzOrder: whatever is taken for an order is one that says the same again.
func FuzzOrder(f *testing.F) {
	f.Add((&order{Path: "/bin/true", Dir: "/", Argv: []string{"true", "x"}, Env: []string{"A=b"}, Strict: true}).encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeOrder(b)
		if err != nil {
			return
		}
		again, err := decodeOrder(o.encode())
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v became %+v, %v", o, again, err)
		}
	})
}

func TestWord(t *testing.T) {
	for _, w := range []word{
		{kind: wordReady},
		{kind: wordExit, args: []int64{0, 9, 1, math.MaxInt64, math.MinInt64, -1, -1, 7}},
	} {
		got, err := decodeWord(w.encode())
		if err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%+v became %+v, %v", w, got, err)
		}
		if got.arg(len(w.args)) != 0 {
			t.Errorf("%+v has one number more", got)
		}
	}
	if w, err := decodeWord(nil); err == nil {
		t.Errorf("nothing is %+v", w)
	}
	if w, err := decodeWord(make([]byte, maxWord+1)); err == nil {
		t.Errorf("too much is %+v", w)
	}
}

// FuzzWord: whatever is taken for a word is one that says the same again.
func FuzzWord(f *testing.F) {
	f.Add(word{kind: wordExit, args: []int64{1, -1, math.MaxInt64}}.encode())
	f.Add([]byte{'X', 0x80})
	f.Add(bytes.Repeat([]byte{0}, maxWord))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := decodeWord(b)
		if err != nil {
			return
		}
		again, err := decodeWord(w.encode())
		if err != nil || !reflect.DeepEqual(w, again) {
			t.Errorf("%+v became %+v, %v", w, again, err)
		}
	})
}
