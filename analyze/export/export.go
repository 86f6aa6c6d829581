// Package export writes parts of recordings in other formats: JSON, CSV and
// traces for Perfetto, or raw bytes, Y4M and MP4.
//
// Place in the flow: beside package report. It reads a recording, and results where a column per
// series is wanted. It measures nothing.
package export

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// Selection is the part of a recording to export.
type Selection struct {
	Reader   *recording.Reader
	Path     string // of the recording
	From, To int    // frames, To excluded
	Edit     recorder.Edit
	NoEvents bool   // omit events, requests and scripts
	Results  string // results.json of the recording, for series and kinds of frames; empty: none
	Network  string // HAR file of the recording, for traces; empty: none
	Scripts  string // folder with script.json and script.log of the recording, for traces; empty: none
	MaxCalls int    // of scripts in a trace, the longest ones (default: 200,000)
	// Activities are traces of the device, and Marked are frames, for Perfetto. FullURLs keeps queries.
	Activities []*activity.Trace
	Marked     []result.FrameSpan
	FullURLs   bool
	Program    string // that exports
	// Progress is called with the number of frames that are done. It may be nil.
	Progress func(frames int)
}

// progress reports that a frame is done.
func (s *Selection) progress(frame int) {
	if s.Progress != nil {
		s.Progress(frame - s.From + 1)
	}
}

// Segments returns the segments of the selected frames.
func (s *Selection) Segments() []recording.Segment {
	return slices.DeleteFunc(s.Reader.Segments(), func(g recording.Segment) bool {
		return g.Frames == 0 || g.First >= s.To || g.First+g.Frames <= s.From
	})
}

// layout returns the layout of the selected frames, or an error if they have several.
func (s *Selection) layout() (*frame.Layout, error) {
	var found *frame.Layout
	for _, g := range s.Segments() {
		if found != nil && found.Format != g.Layout.Format {
			return nil, fmt.Errorf("frames %d:%d change from %v to %v at %d; select frames of one format with --frames",
				s.From, s.To, found.Format, g.Layout.Format, g.First)
		}
		found = g.Layout
	}
	if found == nil {
		return nil, errors.New("no frames to export")
	}
	return found, nil
}

// Pictures plays the frames, edited, all of one layout. It calls start once with that layout, and
// each for every frame. An image is valid until each returns.
func (s *Selection) Pictures(ctx context.Context, start func(*frame.Layout) error,
	each func(n int, m frame.Meta, img frame.Image) error) error {
	layout, err := s.layout()
	if err != nil {
		return err
	}
	editor, err := s.Edit.For(layout)
	if err != nil {
		return err
	}
	if err := start(editor.Layout); err != nil {
		return err
	}
	player, err := s.Reader.Play(s.From, s.To)
	if err != nil {
		return err
	}
	defer player.Close()
	for player.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(player.Number(), player.Meta(), editor.Image(player.Image())); err != nil {
			return err
		}
		s.progress(player.Number())
	}
	return player.Err()
}
