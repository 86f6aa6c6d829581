package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/pattern"
)

// isFirst reports whether a rig starts for the first time: it has neither a configuration nor a
// store. Other commands may have made the data folder.
func (s serveConfig) isFirst(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, store.IndexFile))
	return s.Config == "" && errors.Is(err, fs.ErrNotExist)
}

// plainPath matches a path that a shell reads as one word.
var plainPath = pattern.New(`^[A-Za-z0-9/._-]+$`)

// welcome prints the next steps of somebody whose rig starts for the first time.
func welcome(w io.Writer, c *config.Config, a rig.Address) error {
	fmt.Fprintf(w, "\nThis rig is new. It runs tests on this machine until Ctrl-C.\n\n")
	where := ""
	if c.DataDir != config.Default().DataDir {
		where = " --data-dir " + c.DataDir
		if !plainPath.MatchString(c.DataDir) {
			where = " --data-dir '" + strings.ReplaceAll(c.DataDir, "'", `'\''`) + "'"
		}
	}
	var l terminal.List
	l.Add("web page", "%s", a.Page)
	l.Add("runs", "%s (another folder: --data-dir DIR)", c.DataDir)
	l.Add("run a test", "eideticker run framerate --rig %s", a.Page)
	l.Add("add a device", "describe it in devices.yaml, or in a file for --devices; see docs/devices-and-input.md")
	listen := ""
	if _, loopback := c.Loopback(); loopback {
		listen = ", and listen on all addresses with --listen :8430"
	}
	l.Add("let others in", "make a token for each with eideticker serve token add --role run%s NAME%s", where, listen)
	if a.Hub {
		l.Add("add a rig", "run eideticker fleet invite NAME --hub %s, and the printed command on the rig", a.Page)
	}
	l.Add("as a service", "make package builds a Debian package with a systemd unit; see docs/install-a-box.md. "+
		"--config FILE keeps these settings")
	err := l.Print(w)
	fmt.Fprintln(w)
	return err
}
