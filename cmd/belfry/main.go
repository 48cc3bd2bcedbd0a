package main

import (
	"context"
	"os"

	"github.com/belfry-dev/belfry/sys"
)

func main() {
	sys.Init()
	app := App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Args: os.Args[1:]}
	os.Stdout = os.Stderr // a print by mistake must not get between the protocol's lines
	os.Exit(app.Run(context.Background()))
}
