package e2e

import (
	"os/exec"
	"testing"
)

// Each client's working directory, environment and umask are those of its jobs,
// whoever started the server, and also of those that outlive it.
func TestClientsSurroundings(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	var first *server
	for _, c := range []struct{ mask, path string }{{"0022", "/usr/bin:/bin"}, {"0077", "/bin:/usr/bin"}, {"0000", "/bin:/usr/bin:/sbin"}} {
		env := map[string]string{"PATH": c.path}
		if first != nil {
			env["BELFRY_RUNTIME_DIR"] = first.path("run")
		}
		s := serve(t, setup{env: env,
			parent: []string{"sh", "-c", "umask " + c.mask + `; exec "$@"`, "sh"},
			change: func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--shared") }})
		if first == nil {
			first = s
			me := personOf(t, s)
			t.Cleanup(func() { me.does("daemon", "stop") })
		}
		here := t.TempDir()
		for _, more := range []args{{}, {"detach": true}} {
			r := s.end(s.begin(shell("umask; echo $PATH; pwd"), args{"cwd": here}, more).JobID)
			s.exited(r, 0)
			if got, want := s.text(r.JobID, "stdout"), c.mask+"\n"+c.path+"\n"+here+"\n"; got != want {
				t.Errorf("%v: %q, want %q", more, got, want)
			}
		}
	}
}
