package main

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"code.cloudfoundry.org/go-diodes"
	"github.com/smallnest/ringbuffer"
)

// takers are what one would write, or take from a shelf, in place of belfry's
// ring. All keep what belfry keeps, as far as they can: the newest 10,000 lines
// within 1 MiB.
var takers = map[string]taker{
	"raw":       takeRaw,
	"scanner":   takeScanner,
	"strings":   takeStrings,
	"diodes":    takeDiodes,
	"smallnest": takeSmallnest,
}

const (
	keepLines = 10_000
	keepBytes = 1 << 20
	readSize  = 64 << 10
)

// takeRaw looks at nothing: the floor of a program in Go.
func takeRaw(r io.Reader) (n int64, err error) {
	buf := make([]byte, readSize)
	for {
		k, err := r.Read(buf)
		n += int64(k)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// takeScanner sees every line and keeps none.
func takeScanner(r io.Reader) (n int64, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, readSize), keepBytes)
	for s.Scan() {
		n += int64(len(s.Bytes())) + 1
	}
	return n, s.Err()
}

// takeStrings keeps lines in a slice behind a mutex.
func takeStrings(r io.Reader) (n int64, err error) {
	var (
		mu    sync.Mutex
		lines []string
		size  int
	)
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, readSize), keepBytes)
	for s.Scan() {
		n += int64(len(s.Bytes())) + 1
		mu.Lock()
		line := s.Text()
		lines = append(lines, line)
		size += len(line)
		for len(lines) > 1 && (len(lines) > keepLines || size > keepBytes) {
			size -= len(lines[0])
			lines[0] = ""
			lines = lines[1:]
		}
		mu.Unlock()
	}
	return n, s.Err()
}

// takeDiodes puts a pointer a line into go-diodes' ring. It has no reader here,
// which is its best case.
func takeDiodes(r io.Reader) (n int64, err error) {
	d := diodes.NewOneToOne(keepLines, diodes.AlertFunc(func(int) {}))
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, readSize), keepBytes)
	for s.Scan() {
		n += int64(len(s.Bytes())) + 1
		line := bytes.Clone(s.Bytes())
		d.Set(diodes.GenericDataType(&line))
	}
	return n, s.Err()
}

// takeSmallnest keeps bytes in smallnest/ringbuffer, which knows no lines.
func takeSmallnest(r io.Reader) (n int64, err error) {
	b := ringbuffer.New(keepBytes).SetOverwrite(true)
	buf := make([]byte, readSize)
	for {
		k, err := r.Read(buf)
		n += int64(k)
		if _, werr := b.Write(buf[:k]); werr != nil {
			return n, werr
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
