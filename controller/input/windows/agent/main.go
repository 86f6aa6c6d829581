// Command agent sends a rig's input on a Windows machine, by SendInput. It executes the actions of
// a rig with the same token over TCP.
//
//	agent.exe -listen :4723 -token-file C:\eideticker\token.txt
//
// It runs in the session of the logged-in user, see packages windows and remote. On the rig, the
// device's input is windows:HOST:4723.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"

	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/input/windows"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4723",
		"address to listen at; other than this machine's own only with a token")
	tokenFile := flag.String("token-file", "", "file that has the token; else it is that of $"+wire.TokenVariable)
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "agent: %q is too much: there are flags only, see -help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen, *tokenFile); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, tokenFile string) error {
	token, err := wire.ReadToken(tokenFile)
	if err != nil {
		return err
	}
	l, err := wire.Listen(address, token)
	if err != nil {
		return err
	}
	defer l.Close()
	driver, clock, err := windows.New(nil)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("waiting for a rig", "address", l.Addr(), "input", driver.Info().Device)
	err = remote.Serve(ctx, l, remote.Service{Driver: driver, Clock: clock, Token: token, Log: log})
	return errors.Join(err, driver.Close())
}
