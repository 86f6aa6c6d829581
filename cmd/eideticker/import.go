package main

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/video"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

type importCmd struct {
	Video  string `arg:"" name:"video" complete:"files" help:"Video file, or folder of pictures such as ms_000920.png."`
	Output string `short:"o" required:"" placeholder:"FILE.eid" help:"Recording to write."`
	FPS    string `name:"fps" placeholder:"N" help:"Pictures per second, if names have no times (default: 60)."`
	Force  bool   `help:"Overwrite the file if it exists."`
	JSON   bool   `help:"Print the result as one JSON object."`
}

func (importCmd) Help() string {
	return `Examples:

  eideticker import screencast.mp4 -o screencast.eid
  eideticker import frames/ -o frames.eid

Frames keep the times of the file. Pictures keep the time in their name: ms_000920.png is at 920 ms.
Other pictures are sorted by the numbers in their names.`
}

// otherEndings are endings of other kinds of files.
func otherEndings() []string {
	return []string{".mp4", ".webm", ".mkv", ".mov", ".avi", ".png", ".jpg", ".y4m", ".raw", ".json", ".csv", ".html"}
}

func (c importCmd) Run(e *env) error {
	if recorder.SameFile(c.Video, c.Output) {
		return usagef("%s is the input: choose another name for the recording", c.Output)
	}
	if ending := strings.ToLower(filepath.Ext(c.Output)); slices.Contains(otherEndings(), ending) {
		return usagef("recording %s: must not end in %s; name it %s.eid", c.Output,
			ending, strings.TrimSuffix(c.Output, filepath.Ext(c.Output)))
	}
	params := url.Values{}
	if c.FPS != "" {
		params.Set("fps", c.FPS)
	}
	// Not by a URI, in which a question mark in the name would mean something else.
	src, err := video.Open(c.Video, params)
	if wrong := new(frame.ParamsError); errors.As(err, &wrong) {
		return usageError{err}
	}
	if err != nil {
		if r, notRecording := recording.Open(c.Video); notRecording == nil {
			r.Close() // was only read
			return fmt.Errorf("import %s: already a recording; use eideticker analyze or eideticker export", c.Video)
		}
		return err
	}
	in := recorder.Input{Source: src, Path: c.Output, Options: recorder.Options{Force: c.Force}}
	return e.record([]recorder.Input{in}, "importing "+c.Video, c.JSON)
}
