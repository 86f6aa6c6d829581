// Command agent sends a rig's input from a small board with a USB device port. The board is plugged
// into the device under test as its keyboard, mouse and touch screen. It executes the actions of a
// rig with the same token over TCP.
//
//	agent -listen :4723 -token-file /etc/eideticker/token -input '?size=1080x2400'
//
// It needs the privileges to set up a USB gadget, which root has; see packages hid and remote. It
// is built for Linux on arm64 and amd64. It was tested in a VM that is plugged into itself, not on
// a board.
//
// The device has to be on when the agent begins, or within the parameter wait. Later disconnects
// are detected.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/hid"
	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4723",
		"address to listen at; other than this machine's own only with a token")
	tokenFile := flag.String("token-file", "", "file that has the token; else it is that of $"+wire.TokenVariable)
	gadget := flag.String("input", "",
		"the text after hid: in a device's input: a node, or ?size=1080x2400&touch=no for a gadget to set up")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "agent: %q is too much: there are flags only, see -help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *tokenFile, *gadget); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, tokenFile, gadget string) error {
	token, err := wire.ReadToken(tokenFile)
	if err != nil {
		return err
	}
	l, err := wire.Listen(address, token)
	if err != nil {
		return err
	}
	defer l.Close()
	driver, err := open(ctx, gadget)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("waiting for a rig", "address", l.Addr(), "input", driver.Info().Device)
	err = remote.Serve(ctx, l, remote.Service{Driver: driver, Token: token, Log: log})
	return errors.Join(err, driver.Close())
}

func open(ctx context.Context, gadget string) (input.Driver, error) {
	path, query, _ := strings.Cut(gadget, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("input %.100q: %w", gadget, err)
	}
	return hid.Open(ctx, path, params)
}
