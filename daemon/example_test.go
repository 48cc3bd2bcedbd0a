package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/belfry-dev/belfry/daemon"
)

// The quick start: a program that starts itself as its own daemon.
func Example() {
	ctx := context.Background()
	cfg := daemon.Config{Name: "myapp", DataDir: ".myapp", Args: []string{"serve"}}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from daemon") })
		if err := daemon.Serve(ctx, cfg, mux); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	port, err := daemon.EnsureRunning(ctx, cfg)
	fmt.Println(port, err)
	_ = daemon.Proxy(ctx, cfg, daemon.ProxyOptions{MCPPath: "/mcp"})

	d := daemon.New(cfg)
	info, err := d.Status()
	fmt.Println(info.Status, info.PID, err)
	_ = d.Hold(ctx)
	d.Release()
	_ = d.Stop(ctx)
}

// A daemon over a socket that serves streams, and a client that attaches.
func ExampleServe() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cfg := daemon.Config{
		Name: "shout", DataDir: dir, Transport: daemon.Socket, IdleTimeout: 50 * time.Millisecond,
		Stream: func(_ context.Context, conn net.Conn) {
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				fmt.Fprintf(conn, "%s!\n", lines.Text())
			}
		},
	}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(context.Background(), cfg, nil) }()

	d := daemon.New(cfg)
	for !d.IsRunning() { // a program would call EnsureRunning, or just Dial
		<-time.After(time.Millisecond)
	}
	conn, _, err := d.Dial(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(conn, "hello\n")
	reply, _ := bufio.NewReader(conn).ReadString('\n')
	fmt.Print(reply)
	conn.Close() // the lease ends, and soon after it the daemon
	fmt.Println(<-served)
	// Output:
	// hello!
	// <nil>
}
