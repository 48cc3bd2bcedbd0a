package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/belfry-dev/belfry/.ci/vm/plan"
)

// entry is a file of the archive that a kernel unpacks into its first root.
type entry struct {
	name         string
	mode         uint32 // type and permissions
	major, minor uint32 // of a device
	data         []byte
}

// The types of an entry.
const directory, regular, character = 0o040000, 0o100000, 0o020000

// pack writes the archive: init, programs in /bin, the plan and what little
// else a machine wants before its first mount.
func pack(to, init string, programs []string, runs []byte) error {
	entries := []entry{
		// The first process would otherwise start without its three descriptors.
		{name: "dev", mode: directory | 0o755},
		{name: "dev/console", mode: character | 0o600, major: 5, minor: 1},
		{name: "bin", mode: directory | 0o755},
		{name: "etc", mode: directory | 0o755},
		{name: "etc/passwd", mode: regular | 0o644, data: []byte("root:x:0:0::/tmp:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")},
		{name: plan.File[1:], mode: regular | 0o644, data: runs},
	}
	files := map[string]string{init: "init"}
	for _, p := range programs {
		files[p] = "bin/" + filepath.Base(p)
	}
	for path, name := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: name, mode: regular | 0o755, data: data})
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i, e := range append(entries, entry{name: "TRAILER!!!"}) {
		write(w, i+1, e)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// write writes one entry in the "newc" form of cpio: thirteen fields of eight
// hexadecimal digits, the name and the data, each padded to four bytes. An
// error stays in w until it is flushed.
func write(w *bufio.Writer, inode int, e entry) {
	fmt.Fprintf(w, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		inode, e.mode, 0, 0, 1, 0, len(e.data), 0, 0, e.major, e.minor, len(e.name)+1, 0, e.name)
	pad(w, 110+len(e.name)+1)
	w.Write(e.data)
	pad(w, len(e.data))
}

func pad(w *bufio.Writer, written int) {
	for range -written & 3 {
		w.WriteByte(0)
	}
}
