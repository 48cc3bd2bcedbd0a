package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// recordSuffix marks the records among the files of their directory.
const recordSuffix = ".json"

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 64 << 10

// keptRecord is the record of a live supervisor. The lock on its file, held for
// life, tells that the supervisor lives.
type keptRecord struct {
	lock *FileLock
	path string
	now  record
}

// keepRecord notes in dir that a container is about to be made below parent, for
// which it finds a name, and beside it perhaps a leaf for our own processes.
func keepRecord(dir, parent, leaf string, marks uint64) (*keptRecord, error) {
	r, err := intendedRecord(parent)
	if err != nil {
		return nil, err
	}
	r.Leaf, r.Marks = leaf, marks
	if err := OwnDir(dir); err != nil {
		return nil, fmt.Errorf("make the directory of records: %w", err)
	}
	k := &keptRecord{now: r}
	// A sweep may look at the file between its creation and its lock, and remove it
	// at any time after. So a name that was met by one is never used again.
	for range 100 {
		k.now.Control = parent + "/" + containerPrefix + randomName()
		k.path = filepath.Join(dir, filepath.Base(k.now.Control)+recordSuffix)
		if k.lock, err = CreateLock(k.path); !errors.Is(err, ErrLockReplaced) && !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if err := k.note(); err != nil {
		k.remove()
		return nil, err
	}
	return k, nil
}

func intendedRecord(parent string) (record, error) {
	self, err := linux.ReadStat("/proc", os.Getpid())
	if err != nil {
		return record{}, fmt.Errorf("read this process's start time: %w", err)
	}
	boot := linux.BootID()
	if boot == "" {
		return record{}, errors.New("read the boot id: it is not known here")
	}
	above, err := fileIDOf(parent)
	if err != nil {
		return record{}, err
	}
	return record{Version: recordVersion, Boot: boot, PID: os.Getpid(), Start: self.Start,
		PIDs: linux.NamespaceID("pid"), Mounts: linux.NamespaceID("mnt"), Above: above}, nil
}

// made notes which directory was made. Best effort: without that the random
// name, noted before the directory was there, has to do.
func (k *keptRecord) made() {
	if k == nil {
		return
	}
	if id, err := fileIDOf(k.now.Control); err == nil {
		k.now.Made = id
		_ = k.note()
	}
}

// note writes the record as one more line.
func (k *keptRecord) note() error {
	line, err := k.now.encode()
	if err != nil {
		return err
	}
	if _, err := k.lock.f.Write(line); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// stands tells whether a sweep would find the record: nobody has removed its
// file. A nil record was never kept.
func (k *keptRecord) stands() bool { return k != nil && k.lock.AtPath(k.path) }

// remove removes the record and only then gives the lock back. A nil record was
// never kept.
func (k *keptRecord) remove() {
	if k == nil {
		return
	}
	_ = os.Remove(k.path) // Best effort: a sweep finds nothing behind it.
	k.leave()
}

// leave gives the lock back, so that a sweep may take over what is left.
func (k *keptRecord) leave() {
	if k != nil {
		_ = k.lock.Close() // Best effort: every line was written already.
	}
}

func fileIDOf(path string) (fileID, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return fileID{}, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, fmt.Errorf("identify %s: no device and inode", path)
	}
	return fileID{Dev: uint64(st.Dev), Inode: uint64(st.Ino)}, nil
}
