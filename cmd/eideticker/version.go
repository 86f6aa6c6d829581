package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/eideticker/eideticker/capture/video/media"
)

type versionCmd struct {
	JSON bool `help:"Print one JSON object."`
}

func (versionCmd) Help() string {
	return `Example:

  eideticker version --json

The second line is the path of eideticker-media, which encodes and decodes video. Set EIDETICKER_MEDIA to use another
one.`
}

// versionJSON is what version --json prints.
type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Media    string `json:"media,omitempty"` // the path of eideticker-media
}

func (c versionCmd) Run(e *env) error {
	v := version()
	path, missing := media.Find()
	v.Media = path
	if c.JSON {
		return printJSON(e.out, v)
	}
	if missing != nil {
		path = "no video: " + missing.Error()
	}
	_, err := fmt.Fprintf(e.out, "eideticker %s (%s, %s/%s)\n%s\n", v.Version, v.Go, v.OS, v.Arch, path)
	return err
}

// version reads the module's version and commit from the build information.
func version() versionJSON {
	v := versionJSON{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}

// program is the writer of recordings.
func program() string { return "eideticker " + version().Version }
