package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deb:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("deb", flag.ContinueOnError)
	out := flags.String("o", "out", "folder that the package is written to")
	from := flags.String("from", "deploy", "folder with the package's other files: box and ci")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: go run ./deploy/deb [-o DIR] [-from DIR] PROGRAM MEDIA")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() != 2:
		return errors.New("want two arguments, eideticker and eideticker-media")
	}
	path, err := write(ctx, [2]string(flags.Args()), *from, *out)
	if err == nil {
		fmt.Println(path)
	}
	return err
}

// write makes the package of eideticker and eideticker-media, and returns its path. A package of
// that name is replaced once the new one is whole.
func write(ctx context.Context, programs [2]string, from, out string) (path string, err error) {
	p, err := describe(programs[0])
	if err != nil {
		return "", err
	}
	media, err := describe(programs[1])
	if err != nil {
		return "", err
	}
	if p.version != media.version || p.arch != media.arch {
		return "", fmt.Errorf("%s is %s for %s and %s is %s for %s: build both at once", programs[0], p.version, p.arch,
			programs[1], media.version, media.arch)
	}
	switch linked, err := p.linked(); {
	case err != nil:
		return "", err
	case len(linked) > 0:
		return "", fmt.Errorf("%s links %s: build it with CGO_ENABLED=0", programs[0], strings.Join(linked, " "))
	}
	depends, err := media.libraries(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(out, ".deb-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	share, err := p.share(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(share)) }()
	info := p.info(media.path, from, depends)
	if err := p.addShare(info, share); err != nil {
		return "", err
	}
	if err := deb.Default.Package(info, f); err != nil {
		return "", fmt.Errorf("make the package: %w", err)
	}
	path = filepath.Join(out, deb.Default.ConventionalFileName(info))
	if err := f.Chmod(0o644); err != nil {
		return "", err
	}
	return path, errors.Join(os.Rename(f.Name(), path), f.Close())
}
