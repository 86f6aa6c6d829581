// Command agent records the programs of a board while a rig records its screen.
//
//	agent -listen 10.0.0.3:4724 -token-file /etc/eideticker/token
//
// It runs perf as root, for one rig with the same token at a time. It runs nothing else, and takes
// no names of files. See docs/profile-boards.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/eideticker/eideticker/controller/internal/wire"
	"github.com/eideticker/eideticker/controller/profile"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4724", "address to listen at, of the interface that leads to the rig")
	tokenFile := flag.String("token-file", "", "file that has the token; only its owner may read it")
	dir := flag.String("dir", "/var/lib/eideticker-agent", "folder for recordings until the rig has them")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "agent: unknown argument %q; use -help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *tokenFile, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, tokenFile, dir string) error {
	at, err := net.ResolveTCPAddr("tcp", address)
	switch {
	case err != nil:
		return err
	case at.IP == nil || at.IP.IsUnspecified():
		return fmt.Errorf("listen at %q: name the address of the interface that leads to the rig", address)
	case tokenFile == "":
		return errors.New("-token-file is missing; openssl rand -hex 32 makes a token")
	}
	token, err := wire.ReadToken(tokenFile)
	if err != nil {
		return err
	}
	l, err := wire.Listen(address, token)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("waiting for a rig", "address", l.Addr())
	return (&profile.Agent{Token: token, Dir: dir, Log: log}).Serve(ctx, l)
}
