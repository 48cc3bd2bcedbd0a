package daemon

import (
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

type connKey struct{}

// routes is the control plane and, for everything else, the application.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(s.cfg.HealthPath, s.health)
	mux.HandleFunc("/daemon/attach", s.attach)
	mux.HandleFunc("POST /daemon/shutdown", s.shutdown)
	mux.HandleFunc("/", s.application)
	return s.guard(mux)
}

// guard keeps web pages out, which reach the loopback interface through a name
// of their own, and on TCP whoever does not know the token.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !localHost(r.Host, s.door.port) {
			http.Error(w, "this daemon answers to the loopback interface's names only", http.StatusForbidden)
			return
		}
		if o := r.Header.Values("Origin"); len(o) > 0 && !localOrigin(o) {
			http.Error(w, "web pages may not use this daemon", http.StatusForbidden)
			return
		}
		open := r.URL.Path == s.cfg.HealthPath ||
			s.cfg.DisableTokenAuth && r.URL.Path != "/daemon" && !strings.HasPrefix(r.URL.Path, "/daemon/")
		if s.token != "" && !open && !bears(r, s.token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token of the PID file is missing or another daemon's", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func bears(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1
}

// localHost reports whether a Host header names this machine, with no port or
// our own. On a socket, port is 0 and none is ours.
func localHost(host string, port int) bool {
	if h, p, err := net.SplitHostPort(host); err == nil {
		if p != strconv.Itoa(port) {
			return false
		}
		host = h
	}
	return host == "127.0.0.1" || host == "localhost"
}

// localOrigin reports whether every Origin header is that of a page of this
// machine itself, under any port.
func localOrigin(values []string) bool {
	for _, v := range values {
		u, err := url.Parse(v)
		if err != nil || u.Scheme == "" || u.Host == "" {
			return false
		}
		switch u.Hostname() {
		case "127.0.0.1", "localhost", "::1":
		default:
			return false
		}
	}
	return true
}

func (s *server) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Best effort: a client that is gone needs no answer.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "ok", "name": s.cfg.Name, "pid": s.hello.PID, "uptime": time.Since(s.hello.StartTime).Round(time.Millisecond).String(),
	})
}

func (s *server) shutdown(w http.ResponseWriter, _ *http.Request) {
	s.begin("a client asked for it")
	w.WriteHeader(http.StatusAccepted)
}

// begin lets nobody in any more and has the daemon leave.
func (s *server) begin(why string) {
	s.drain.begin()
	s.gate.drain()
	s.tell(why)
}

// application serves a request as a lease of its own: the daemon neither idles
// out nor cuts it while it lasts.
func (s *server) application(w http.ResponseWriter, r *http.Request) {
	if !s.gate.enter() {
		unavailable(w)
		return
	}
	defer s.gate.exit()
	if s.app == nil {
		http.NotFound(w, r)
		return
	}
	s.app.ServeHTTP(w, r)
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, "this daemon is on its way out", http.StatusServiceUnavailable)
}
