package main

import (
	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
)

type importCmd struct {
	Video  string `arg:"" name:"video" complete:"files" help:"A video file, or a folder of pictures such as ms_000920.png."`
	Output string `short:"o" required:"" placeholder:"FILE.eid" complete:"files" help:"The recording."`
	Force  bool   `help:"Overwrite the file if it exists."`
	JSON   bool   `help:"Print the result as one JSON object."`
}

func (importCmd) Help() string {
	return `Example:

  eideticker import screencast.mp4 -o screencast.eid

Each frame keeps the time that the file gives it.`
}

func (c importCmd) Run(e *env) error {
	src, err := openSource(e.ctx, "video:"+c.Video)
	if err != nil {
		return err
	}
	in := rig.Input{Source: src, Path: c.Output, Options: rig.Options{Force: c.Force}}
	return e.record([]rig.Input{in}, "importing "+c.Video, c.JSON)
}
