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

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
)

type viewCmd struct {
	Path   string `arg:"" name:"file|dir" complete:"files" help:"A recording or a run folder."`
	NoOpen bool   `help:"Print the address and do not open a browser."`
	Port   uint16 `help:"Port to serve on (default: a free port)."`
}

func (viewCmd) Help() string {
	return `Examples:

  eideticker view run.eid
  eideticker view out/run --no-open --port 8080

The page is served until Ctrl-C, to this machine only, at an address with a secret. A recording is analysed first,
into a temporary folder.`
}

func (c viewCmd) Run(e *env) error {
	st, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return c.show(e, c.Path)
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

// analyze measures all that applies, as the command of that name does.
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
	return c.serve(e, run)
}

// serve listens, says where, and ends with the context.
func (c viewCmd) serve(e *env, run *runDir) error {
	page, err := report.Page(run.root.FS(), run.results, report.PageOptions{})
	if err != nil {
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(c.Port))))
	if err != nil {
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
	handler := newFolderHandler(run.root, page, listener.Addr().String(), rand.Text())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := c.announce(e, handler.address()); err != nil {
		return errors.Join(err, server.Close(), closed(<-served))
	}
	select {
	case <-e.ctx.Done():
		return errors.Join(server.Close(), closed(<-served))
	case err := <-served:
		return fmt.Errorf("view %s: %w", c.Path, err)
	}
}

// closed is nil where a server ended because it was told to.
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
			fmt.Fprintf(e.err, "no browser was opened (%v): open the address above\n", err)
		}
	}
	fmt.Fprintln(e.err, "Ctrl-C ends it")
	return nil
}

// openBrowser asks the desktop to show an address. The browser outlives this program.
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
