package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

func TestValidate(t *testing.T) {
	good := func() Config { return Config{Name: "myapp", DataDir: "d"} }
	if c := good(); c.Validate() != nil {
		t.Fatal(c.Validate())
	}
	for name, change := range map[string]func(*Config){
		"no name":            func(c *Config) { c.Name = "" },
		"dot":                func(c *Config) { c.Name = "." },
		"dots":               func(c *Config) { c.Name = ".." },
		"slash":              func(c *Config) { c.Name = "a/b" },
		"backslash":          func(c *Config) { c.Name = `a\b` },
		"device":             func(c *Config) { c.Name = "CON" },
		"device with suffix": func(c *Config) { c.Name = "con.txt" },
		"port":               func(c *Config) { c.Name = "COM1" },
		"trailing dot":       func(c *Config) { c.Name = "a." },
		"trailing space":     func(c *Config) { c.Name = "a " },
		"colon":              func(c *Config) { c.Name = "a:b" },
		"nul":                func(c *Config) { c.Name = "a\x00b" },
		"no directory":       func(c *Config) { c.DataDir = "" },
		"root path":          func(c *Config) { c.HealthPath = "/" },
		"control path":       func(c *Config) { c.HealthPath = "/daemon/health" },
		"path without slash": func(c *Config) { c.HealthPath = "health" },
		"pattern":            func(c *Config) { c.HealthPath = "/{x}" },
		"timeout":            func(c *Config) { c.Timeout = -1 },
		"idle":               func(c *Config) { c.IdleTimeout = -1 },
		"shutdown":           func(c *Config) { c.ShutdownTimeout = -1 },
		"transport":          func(c *Config) { c.Transport = "pigeon" },
	} {
		c := good()
		change(&c)
		if err := c.Validate(); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
		d := New(c)
		if _, err := d.EnsureRunning(t.Context()); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: EnsureRunning: %v", name, err)
		}
		if err := Serve(t.Context(), c, nil); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: Serve: %v", name, err)
		}
	}
	c := good()
	c.Name, c.SpawnCooldown = "COM", -1 // no device; no cooldown
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	p := func(min, max int) Range { return Range{min, max} }
	for _, c := range []struct {
		name     string
		own      Config
		h        Hello
		want     verdict
		busyWant verdict
	}{
		{"the same", Config{Version: "1.2.3", protocol: p(1, 1)}, Hello{Version: "1.2.3", Protocol: p(1, 1)}, use, use},
		{"older daemon", Config{Version: "1.3.0", protocol: p(1, 2)}, Hello{Version: "1.2.3", Protocol: p(1, 1)}, replace, use},
		{"newer daemon", Config{Version: "1.2.3", protocol: p(1, 1)}, Hello{Version: "1.3.0", Protocol: p(1, 2)}, use, use},
		{"older daemon of another wire", Config{Version: "2.0.0", protocol: p(2, 2)}, Hello{Version: "1.0.0", Protocol: p(1, 1)}, replace, refuse},
		{"newer daemon of another wire", Config{Version: "1.0.0", protocol: p(1, 1)}, Hello{Version: "2.0.0", Protocol: p(2, 2)}, refuse, refuse},
		{"optional capability missing", Config{Version: "1.0.0", protocol: p(1, 1), Capabilities: []string{"x"}}, Hello{Version: "1.0.0", Protocol: p(1, 1)}, use, use},
		{"required capability missing, older", Config{Version: "1.1.0", protocol: p(1, 1), Requires: []string{"x"}}, Hello{Version: "1.0.0", Protocol: p(1, 1)}, replace, refuse},
		{"required capability missing, same", Config{Version: "1.0.0", protocol: p(1, 1), Requires: []string{"x"}}, Hello{Version: "1.0.0", Protocol: p(1, 1)}, replace, refuse},
		{"required capability missing, newer", Config{Version: "1.0.0", protocol: p(1, 1), Requires: []string{"x"}}, Hello{Version: "1.1.0", Protocol: p(1, 1)}, refuse, refuse},
		{"required capability there", Config{Version: "1.0.0", protocol: p(1, 1), Requires: []string{"x"}}, Hello{Version: "1.0.0", Protocol: p(1, 1), Capabilities: []string{"x"}}, use, use},
		{"versions that are none", Config{Version: "devel", protocol: p(1, 1)}, Hello{Version: "", Protocol: p(1, 1)}, use, use},
	} {
		if got := judge(&c.own, &c.h); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		c.h.Busy = true
		if got := judge(&c.own, &c.h); got != c.busyWant {
			t.Errorf("%s, busy: %d, want %d", c.name, got, c.busyWant)
		}
		c.h.Busy, c.h.Clients = false, []Client{{}}
		if got := judge(&c.own, &c.h); got != c.busyWant {
			t.Errorf("%s, with a client: %d, want %d", c.name, got, c.busyWant)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	order := []string{"0.1.0-dev", "0.1.0", "0.2.0-rc.1", "0.2.0-rc.2", "0.2.0-rc.10", "0.2.0-rc.x", "v0.2.0", "1.0.0", "1.0.10"}
	for i, a := range order {
		for j, b := range order {
			if got, want := CompareVersions(a, b), cmpInt(i, j); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, other := range []string{"", "devel", "1.2", "x.y.z"} {
		if CompareVersions(other, "1.0.0") != 0 {
			t.Errorf("%q is ordered", other)
		}
	}
	if CompareVersions("1.0.0+a", "1.0.0+b") != 0 {
		t.Error("build metadata is ordered")
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Only the answer that nobody is there may lead to a start.
func TestClassify(t *testing.T) {
	d := New(Config{Name: "x", DataDir: t.TempDir(), Transport: Socket})
	op := func(e error) error { return fmt.Errorf("connect: %w", os.NewSyscallError("connect", e)) }
	for _, c := range []struct {
		err  error
		want error
	}{
		{fmt.Errorf("%w: %w", errNobody, op(syscall.ENOENT)), errNobody},
		{io.EOF, errNobody},
		{io.ErrUnexpectedEOF, errNobody},
		{op(syscall.EACCES), ErrUnavailable},
		{op(syscall.EPERM), ErrUnavailable},
		{op(syscall.ENOTSUP), ErrUnavailable},
		{op(syscall.EMFILE), ErrUnavailable},
		{op(syscall.ENAMETOOLONG), ErrUnavailable},
		{op(syscall.EAGAIN), ErrUnhealthy},
		{sys.ErrStranger, ErrUnavailable},
		{errForeign, ErrUnavailable},
		{ErrDraining, ErrDraining},
	} {
		got := d.classify(t.Context(), t.Context(), sys.ID{}, c.err)
		if !errors.Is(got, c.want) || c.want != errNobody && errors.Is(got, errNobody) {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestLocalNames(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "127.0.0.1:80": true, "localhost:80": true, "127.0.0.1:81": false,
		"127.0.0.1.evil.com": false, "evil.com": false, "evil.com:80": false, "": false, "localhost.": false, "[::1]:80": false,
		"0.0.0.0:80": false, "127.0.0.1@evil.com": false,
	} {
		if got := localHost(host, 80); got != want {
			t.Errorf("Host %q: %v", host, got)
		}
	}
	for origin, want := range map[string]bool{
		"http://127.0.0.1": true, "http://localhost:3000": true, "https://[::1]:1": true,
		"http://127.0.0.1.evil.com": false, "http://evil.com?x=://localhost": false, "null": false, "": false, "http://evil.com/localhost": false,
		"localhost": false, "http://localhost.evil.com": false, "http://user@evil.com": false,
	} {
		if got := localOrigin([]string{origin}); got != want {
			t.Errorf("Origin %q: %v", origin, got)
		}
	}
	if localOrigin([]string{"http://localhost", "http://evil.com"}) {
		t.Error("one of two origins is enough")
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, s := range []string{"", "123", `{"pid":1,"port":2}`, `{"pid":-1}`, "{", `{"pid":1,"identity":{"birth":"x"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err == nil && r.PID <= 0 {
			t.Errorf("%q: process %d", b, r.PID)
		}
		r.Identity.id()
	})
}

func FuzzSniff(f *testing.F) {
	for _, s := range []string{"", "[]", `[{"id":1}]`, `{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":"a,b","result":{}}`,
		`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":"\u0041","result":1}`, `{"id":null}`, `{"jsonrpc":"2.0","id":{}}`, "\x00bye 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := sniff(b)
		for _, m := range all {
			if m.id == "null" {
				t.Errorf("%q has the id null", b)
			}
		}
		if ids := replyTo(b); len(ids) == 1 && len(all) == 1 && bytes.Count(bytes.ToLower(b), []byte("id")) == 1 && ids[0] != all[0].id {
			t.Errorf("%q answers %q, and its id is %q", b, ids[0], all[0].id)
		}
	})
}

func TestGroup(t *testing.T) {
	var none Group
	if err := none.Run(); err != nil {
		t.Error(err)
	}
	first := errors.New("first")
	var g Group
	var order []string
	stop := make(chan struct{})
	g.Add(func() error { <-stop; return errors.New("late") }, func(err error) {
		order = append(order, "a:"+err.Error())
		close(stop)
	})
	g.Add(func() error { return first }, func(err error) { order = append(order, "b:"+err.Error()) })
	if err := g.Run(); err != first || strings.Join(order, " ") != "a:first b:first" {
		t.Errorf("%v, %v", err, order)
	}
	var p Group
	p.Add(func() error { panic("boom") }, func(error) {})
	var pe *PanicError
	if err := p.Run(); !errors.As(err, &pe) || pe.Value != "boom" {
		t.Errorf("a panic: %v", err)
	}
}

// A log that cannot be put aside costs none of those that were, however often it
// is tried.
func TestLogRotationRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	for n, name := range []string{path, path + ".1", path + ".2", path + ".3"} {
		if err := os.WriteFile(name, []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		open, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
	} else if err := os.MkdirAll(filepath.Join(path+".0", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := rotate(path); err == nil {
			t.Fatal("it was put aside")
		}
	}
	f, err := openLog(path, 1)
	if err != nil {
		t.Fatalf("the log is not opened: %v", err)
	}
	defer f.Close()
	for n, name := range []string{path, path + ".1", path + ".2", path + ".3"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != strconv.Itoa(n) {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
}

func TestLogRotation(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file is renamed there while somebody has it open")
	}
	path := filepath.Join(t.TempDir(), "x.log")
	l, err := newLogFile(path, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	line := strings.Repeat("x", 999) + "\n"
	for range 5 << 10 { // 5 MiB
		if _, err := io.WriteString(l, line); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(path + "*")
	if err != nil || len(names) != 1+oldLogs {
		t.Errorf("%v, %v", names, err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil || len(b) > 1<<20 || strings.Trim(string(b), "x\n") != "" || len(b)%1000 != 0 {
			t.Errorf("%s: %d bytes, %v", n, len(b), err)
		}
	}
	if b, err := io.ReadAll(old); err != nil || len(b)%1000 != 0 || len(b) == 0 {
		t.Errorf("who reads the old file gets %d bytes, %v", len(b), err)
	}
}
