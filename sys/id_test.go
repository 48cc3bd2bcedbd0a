package sys

import "testing"

func TestSame(t *testing.T) {
	ticks := ID{PID: 7, Birth: 100, Kind: BirthStartTicks, Boot: "a"}
	with := func(f func(*ID)) ID { id := ticks; f(&id); return id }
	micros := ID{PID: 7, Birth: 100, Kind: BirthStartMicros}
	for _, c := range []struct {
		name string
		a, b ID
		want Match
	}{
		{"itself", ticks, ticks, Yes},
		{"another number", ticks, with(func(i *ID) { i.PID++ }), No},
		{"another birth", ticks, with(func(i *ID) { i.Birth++ }), No},
		{"another boot", ticks, with(func(i *ID) { i.Boot = "b" }), No},
		{"a boot not recorded", ticks, with(func(i *ID) { i.Boot = "" }), Unknown},
		{"boot and birth differ unknown", ticks, with(func(i *ID) { i.Boot, i.Birth = "", 5 }), Unknown},
		{"no birth", ticks, ID{PID: 7, Boot: "a"}, Unknown},
		{"nothing but the number", ID{PID: 7}, ID{PID: 7}, Unknown},
		{"another clock", ticks, micros, Unknown},
		{"one inode", with(func(i *ID) { i.Unique = 9 }), with(func(i *ID) { i.Unique = 9 }), Yes},
		{"other inode, same tick", with(func(i *ID) { i.Unique = 9 }), with(func(i *ID) { i.Unique = 8 }), No},
		{"inode on one side", with(func(i *ID) { i.Unique = 9 }), ticks, Yes},
		{"absolute time needs no boot", micros, micros, Yes},
		{"one microsecond", micros, ID{PID: 7, Birth: 101, Kind: BirthStartMicros}, No},
	} {
		for _, got := range []Match{c.a.Same(c.b), c.b.Same(c.a)} {
			if got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

func TestStartErrorText(t *testing.T) {
	for want, e := range map[string]*StartError{
		"/x: no such file":    {Path: "/x", Detail: "no such file"},
		"no process":          {Detail: "no process"},
		"start /x: broken":    {Path: "/x", Err: errBroken{}},
		"start /x: file_busy": {Path: "/x", Code: CodeFileBusy},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

type errBroken struct{}

func (errBroken) Error() string { return "broken" }
