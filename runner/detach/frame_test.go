package detach

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) { systest.Main(m) }

func TestFrames(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	var all []byte
	want := []frame{
		{kind: frameFormat, at: at, body: []byte(format)},
		{kind: frameOut, at: at, body: bytes.Repeat([]byte("x"), 300)},
		{kind: frameFinishErr, at: at},
		{kind: frameEnd, at: at, body: []byte{}},
	}
	for _, f := range want {
		all = appendFrame(all, f)
	}
	for _, w := range want {
		for short := range min(len(all), 8) {
			if _, n, err := parseFrame(all[:short]); err != nil || n > short {
				t.Errorf("%d bytes of a frame: %d, %v", short, n, err)
			}
		}
		f, n, err := parseFrame(all)
		if err != nil || f.kind != w.kind || !f.at.Equal(at) || !bytes.Equal(f.body, w.body) {
			t.Fatalf("%c: %+v %v", w.kind, f, err)
		}
		all = all[n:]
	}
	if len(all) != 0 {
		t.Errorf("%d bytes are left", len(all))
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, frame{kind: frameOut, at: time.Unix(1, 2), body: []byte("text\n")}))
	f.Add([]byte("o\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("e\x01\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, n, err := parseFrame(b)
		switch {
		case err != nil && !errors.Is(err, errFrame), n < 0, n > len(b), len(got.body) > n:
			t.Fatalf("%+v %d %v", got, n, err)
		case n > 0 && got.at.UnixNano() >= 0:
			again, m, err := parseFrame(appendFrame(nil, got))
			if err != nil || m == 0 || again.kind != got.kind || !bytes.Equal(again.body, got.body) || !again.at.Equal(got.at) {
				t.Fatalf("%+v became %+v, %v", got, again, err)
			}
		}
	})
}
