package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/server/runweb"
)

type viewCmd struct {
	Path   string `arg:"" name:"file|dir" complete:"files" help:"A recording, a run folder or the folder of a set."`
	NoOpen bool   `help:"Print the address and do not open a browser."`
	Port   uint16 `help:"Port to serve on (default: a free port)."`
}

func (viewCmd) Help() string {
	return `Examples:

  eideticker view run.eid
  eideticker view out/run --no-open --port 8080
  eideticker view out/set

The page is served until Ctrl-C, to this machine only, at an address with a secret. A recording is analysed first,
into a temporary folder. So is a run folder without results. The page of a set leads to those of its runs.`
}

func (c viewCmd) Run(e *env) error {
	st, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	switch _, err := os.Stat(filepath.Join(c.Path, result.FileName)); {
	case st.IsDir() && compare.IsSet(c.Path):
		return c.showSet(e, c.Path)
	case st.IsDir() && err == nil:
		return c.show(e, c.Path)
	}
	if c.Path, err = recordingPath(c.Path); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "eideticker-view-*")
	if err != nil {
		return err
	}
	dir := filepath.Join(tmp, "run")
	if err = c.analyze(e, dir); err == nil {
		err = c.show(e, dir)
	}
	return errors.Join(err, os.RemoveAll(tmp))
}

// analyze measures a recording like eideticker analyze.
func (c viewCmd) analyze(e *env, dir string) error {
	r, err := recording.Open(c.Path)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	name := strings.TrimSuffix(filepath.Base(c.Path), filepath.Ext(c.Path))
	found, err := runfolder.Run(e.ctx, r, runfolder.Settings{Name: name}, program(), e)
	if err == nil {
		err = runfolder.WriteFolder(e.ctx, dir, r, found, runfolder.FolderOptions{}, e)
	}
	if err != nil {
		return fmt.Errorf("view %s: %w", c.Path, orInterrupted(err))
	}
	return nil
}

// show serves a run folder until the context ends.
func (c viewCmd) show(e *env, dir string) error {
	run, err := openRun(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	page, err := report.Page(run.root.FS(), run.results, report.PageOptions{})
	if err != nil {
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
	return c.serve(e, run.root, pagesOf(run.root, page, ""))
}

// serve prints the address and serves until the context ends.
func (c viewCmd) serve(e *env, root *os.Root, pages runweb.Pages) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(c.Port))))
	if err != nil {
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
	handler := runweb.NewFolder(root, pages, listener.Addr().String(), rand.Text())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := c.announce(e, handler.Address()); err != nil {
		return errors.Join(err, server.Close(), closed(<-served))
	}
	select {
	case <-e.ctx.Done():
		return errors.Join(server.Close(), closed(<-served))
	case err := <-served:
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
}

// closed removes the error of a closed server.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (c viewCmd) announce(e *env, address string) error {
	if _, err := fmt.Fprintln(e.out, address); err != nil {
		return err
	}
	if !c.NoOpen {
		if err := openBrowser(e.ctx, address); err != nil {
			fmt.Fprintf(e.err, "cannot open a browser: %v; open the address above\n", err)
		}
	}
	fmt.Fprintln(e.err, "Ctrl-C ends it")
	return nil
}

// openBrowser opens an address on the desktop. The browser outlives this program.
func openBrowser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
