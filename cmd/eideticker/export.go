package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
	"github.com/eideticker/eideticker/codec/recording"
)

type exportCmd struct {
	File   string     `arg:"" name:"file" complete:"files" help:"A recording."`
	Output string     `short:"o" required:"" placeholder:"OUT" complete:"files" help:"Where to. Its ending says what: .raw .y4m .png .mp4 .json .csv .eid"`
	Frames frameRange `placeholder:"A:B" help:"Only frames from A, B not included."`
	Region string     `placeholder:"WxH+X+Y" help:"Only this part of each picture (.raw .y4m .png .mp4)."`
	Force  bool       `help:"Overwrite what exists."`
	JSON   bool       `help:"Print the result as one JSON object."`
}

func (exportCmd) Help() string {
	return `Examples:

  eideticker export desk.eid -o desk.mp4
  eideticker export desk.eid -o 'pictures/%06d.png' --frames 0:60 --region 640x360+0+0

OUT's ending says what is written:

  .raw   the frames' bytes as they were captured, one after the other
  .y4m   the same with a header, for YUV formats
  .png   a picture per frame; a %06d in OUT is its number, or else the number is added
  .mp4   a video; missing frames are shown as such
  .json  events, gaps and metadata
  .csv   a line per frame: number, time, what changed
  .eid   a recording of the chosen frames`
}

// job is what all kinds of export work on.
type job struct {
	*env
	cmd      exportCmd
	reader   *recording.Reader
	from, to int
	region   *frame.Region // nil: all
}

// exporter writes one kind of output and says what it wrote.
type exporter func(*job) (string, error)

// exporters lists the kinds of output by ending, and whether they take a region.
func exporters() map[string]struct {
	run    exporter
	region bool
} {
	return map[string]struct {
		run    exporter
		region bool
	}{
		".raw":  {exportRaw, true},
		".y4m":  {exportY4M, true},
		".png":  {exportPNG, true},
		".mp4":  {exportMP4, true},
		".json": {exportJSON, false},
		".csv":  {exportCSV, false},
		".eid":  {exportEID, false},
	}
}

func (c exportCmd) Run(e *env) error {
	ending := strings.ToLower(filepath.Ext(c.Output))
	if strings.HasSuffix(strings.ToLower(c.Output), ".trace.json") {
		return usagef("cannot write %s: traces come with a later version of this program; .json without .trace has events, gaps and metadata", c.Output)
	}
	kind, ok := exporters()[ending]
	if !ok {
		return usagef("cannot tell from %q what to write: OUT ends in .raw .y4m .png .mp4 .json .csv or .eid", c.Output)
	}
	j := &job{env: e, cmd: c}
	if c.Region != "" {
		region, err := frame.ParseRegion(c.Region)
		if err != nil {
			return usageError{err}
		}
		if !kind.region {
			return usagef("--region does not go with %s", ending)
		}
		j.region = &region
	}
	var err error
	if j.reader, err = recording.Open(c.File); err != nil {
		return err
	}
	defer j.reader.Close() // was only read
	if rig.SameFile(c.File, c.Output) {
		return usagef("%s is what is read: choose another name for OUT", c.Output)
	}
	if j.from, j.to, err = c.Frames.in(j.reader.Frames()); err != nil {
		return err
	}
	wrote, err := kind.run(j)
	if err != nil {
		return fmt.Errorf("export %s to %s: %w", c.File, c.Output, orInterrupted(err))
	}
	if c.JSON {
		return printJSON(e.out, exportResult{c.File, c.Output, ending[1:], j.from, j.to - j.from})
	}
	_, err = fmt.Fprintln(e.out, wrote)
	return err
}

// exportResult is what export --json prints.
type exportResult struct {
	Path       string `json:"path"`
	Output     string `json:"output"`
	Kind       string `json:"kind"`
	FirstFrame int    `json:"first_frame"`
	Frames     int    `json:"frames"`
}

// segments returns those that the chosen frames stand in.
func (j *job) segments() []recording.Segment {
	return slices.DeleteFunc(j.reader.Segments(), func(s recording.Segment) bool {
		return s.Frames == 0 || s.First >= j.to || s.First+s.Frames <= j.from
	})
}

// layout returns the one layout that all chosen frames have.
func (j *job) layout() (*frame.Layout, error) {
	var found *frame.Layout
	for _, s := range j.segments() {
		if found != nil && found.Format != s.Layout.Format {
			return nil, fmt.Errorf("frames %d:%d change from %v to %v at %d: choose frames of one format with --frames", j.from, j.to, found.Format, s.Layout.Format, s.First)
		}
		found = s.Layout
	}
	if found == nil {
		return nil, errors.New("there are no frames to export")
	}
	return found, nil
}

// pictures plays the chosen frames, cut to the region, all of one layout. Its start is told that layout; each gets the
// pictures, which are valid until it returns.
func (j *job) pictures(start func(*frame.Layout) error, each func(n int, m frame.Meta, img frame.Image) error) error {
	layout, err := j.layout()
	if err != nil {
		return err
	}
	cut := func(img frame.Image) frame.Image { return img }
	if j.region != nil {
		crop, err := layout.NewCrop(*j.region)
		if err != nil {
			return usageError{err}
		}
		if crop.Region != *j.region {
			fmt.Fprintf(j.err, "the region shrinks to %v, whole blocks of chroma\n", crop.Region)
		}
		layout, cut = crop.Layout, crop.Image
	}
	if err := start(layout); err != nil {
		return err
	}
	player, err := j.reader.Play(j.from, j.to)
	if err != nil {
		return err
	}
	defer player.Close()
	p := j.phase("writing "+j.cmd.Output, j.to-j.from)
	defer p.end()
	for player.Next() {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		if err := each(player.Number(), player.Meta(), cut(player.Image())); err != nil {
			return err
		}
		p.set(player.Number() - j.from + 1)
	}
	return player.Err()
}
