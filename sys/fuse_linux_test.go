package sys_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("fuse-server", fuseServer) }

// slowMount is a file system with one program in it, which answers look-ups
// when it is told to. Its server is a process of its own: one inside the test
// would stop with it.
type slowMount struct {
	dir   string
	stdin io.Writer
}

// mountSlow mounts it; the test is skipped where that is not permitted.
func mountSlow(t *testing.T) *slowMount {
	t.Helper()
	dir := t.TempDir()
	path, argv, env := systest.Command("fuse-server", dir)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
	in := must(cmd.StdinPipe())
	out := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Ends every look-up that waits, then the mount.
		cmd.Process.Kill()
		cmd.Wait()
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "mounted\n" {
		t.Skipf("no FUSE mount here: %q %v", line, err)
	}
	return &slowMount{dir: dir, stdin: in}
}

// allow lets so many look-ups pass; further ones wait.
func (m *slowMount) allow(n int) { fmt.Fprintln(m.stdin, n) }

// The few requests of the FUSE protocol (linux/fuse.h, 7.31) that a program
// with one page of cached content needs.
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseRelease = 18
	fuseFlush   = 25
	fuseInit    = 26
	fuseOpendir = 27
	fuseBatch   = 42
)

type fuseFS struct {
	dev     int
	program []byte

	mu      sync.Mutex
	more    *sync.Cond
	allowed int
}

// fuseServer serves the file system at DIR until it is killed.
func fuseServer(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stdout, err); return 1 }
	dev, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		return fail(err)
	}
	opts := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", dev, os.Getuid(), os.Getgid())
	if err := syscall.Mount("belfry-test", args[0], "fuse", syscall.MS_NODEV|syscall.MS_NOSUID, opts); err != nil {
		return fail(err)
	}
	fs := &fuseFS{dev: dev, program: program}
	fs.more = sync.NewCond(&fs.mu)
	go fs.obey()
	fmt.Fprintln(os.Stdout, "mounted")
	buf := make([]byte, 1<<17+4096)
	for {
		n, err := syscall.Read(dev, buf)
		if err == syscall.EINTR || err == syscall.ENOENT {
			continue
		}
		if err != nil {
			return 0 // unmounted
		}
		go fs.serve(append([]byte(nil), buf[:n]...))
	}
}

func (fs *fuseFS) obey() {
	for {
		var n int
		if _, err := fmt.Fscanln(os.Stdin, &n); err != nil {
			return
		}
		fs.mu.Lock()
		fs.allowed = n
		fs.mu.Unlock()
		fs.more.Broadcast()
	}
}

func (fs *fuseFS) serve(req []byte) {
	op, unique, node := le.Uint32(req[4:]), le.Uint64(req[8:]), le.Uint64(req[16:])
	switch op {
	case fuseForget, fuseBatch:
	case fuseInit:
		out := make([]byte, 64)
		le.PutUint32(out[0:], 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[20:], 1<<17) // max_write
		fs.reply(unique, 0, out)
	case fuseLookup:
		fs.mu.Lock()
		for fs.allowed == 0 {
			fs.more.Wait()
		}
		fs.allowed--
		fs.mu.Unlock()
		out := make([]byte, 40) // validity 0: every look-up comes here
		le.PutUint64(out, 2)
		fs.reply(unique, 0, append(out, fs.attr(2)...))
	case fuseGetattr:
		fs.reply(unique, 0, append(make([]byte, 16), fs.attr(node)...))
	case fuseOpen, fuseOpendir:
		fs.reply(unique, 0, make([]byte, 16))
	case fuseRead:
		off, size := le.Uint64(req[48:]), uint64(le.Uint32(req[56:]))
		off = min(off, uint64(len(fs.program)))
		fs.reply(unique, 0, fs.program[off:min(off+size, uint64(len(fs.program)))])
	case fuseRelease, fuseFlush:
		fs.reply(unique, 0, nil)
	default:
		fs.reply(unique, -int32(syscall.ENOSYS), nil)
	}
}

var le = binary.LittleEndian

func (fs *fuseFS) attr(node uint64) []byte {
	b := make([]byte, 88)
	le.PutUint64(b[0:], node)
	mode := uint32(syscall.S_IFDIR | 0o755)
	if node == 2 {
		mode = syscall.S_IFREG | 0o755
		le.PutUint64(b[8:], uint64(len(fs.program)))
	}
	le.PutUint32(b[60:], mode)
	le.PutUint32(b[64:], 1) // links
	return b
}

func (fs *fuseFS) reply(unique uint64, errno int32, data []byte) {
	out := make([]byte, 16, 16+len(data))
	le.PutUint32(out, uint32(16+len(data)))
	le.PutUint32(out[4:], uint32(errno))
	le.PutUint64(out[8:], unique)
	_, _ = syscall.Write(fs.dev, append(out, data...)) // the asker may be gone
}
