package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

type exportCmd struct {
	File     string     `arg:"" name:"file" complete:"files" help:"A recording."`
	Output   string     `short:"o" required:"" placeholder:"OUT" complete:"files" help:"Output file; its ending selects the format: .raw .y4m .png .mp4 .json .csv .trace.json .eid"`
	Frames   frameRange `placeholder:"A:B" help:"Export only frames A to B, B excluded."`
	Region   string     `placeholder:"WxH+X+Y" help:"Export only this region (.raw .y4m .png .mp4 .eid)."`
	Redact   []string   `placeholder:"WxH+X+Y" sep:"none" help:"Paint over this region; repeatable (.raw .y4m .png .mp4 .eid)."`
	NoEvents bool       `help:"Omit events, which may contain typed text (.json .trace.json .eid)."`
	Results  string     `placeholder:"FILE" complete:"files" help:"Add a column per series of this results.json (.csv)."`
	Force    bool       `help:"Overwrite existing files."`
	JSON     bool       `help:"Print the result as one JSON object."`
}

func (exportCmd) Help() string {
	return `Examples:

  eideticker export desk.eid -o desk.mp4
  eideticker export desk.eid -o 'pictures/%06d.png' --frames 0:60 --region 640x360+0+0
  eideticker export desk.eid -o share.eid --frames 120:600 --redact 400x40+80+60 --no-events

The ending of OUT selects the format:

  .raw         bytes of the frames as captured
  .y4m         the same with a header, for YUV formats
  .png         one picture per frame; its number replaces %06d in OUT, or is added
  .mp4         video; missing frames are marked
  .json        events, gaps and metadata
  .csv         one line per frame: number, time, changes; with --results also series of measures
  .trace.json  frames, gaps and events over time, for ui.perfetto.dev and chrome://tracing
  .eid         a recording of the chosen frames

Redacted regions are grey in every frame, and OUT holds none of their pixels. Regions grow to whole chroma blocks.
Redaction does not change events and metadata. Omit events with --no-events.`
}

// job is what all kinds of export work on.
type job struct {
	*env
	cmd      exportCmd
	reader   *recording.Reader
	from, to int
	edit     recorder.Edit
}

// exportKind is one kind of output.
type exportKind struct {
	ending   string
	run      func(*job) (string, error) // says what it wrote
	pictures bool                       // has pictures, so takes --region and --redact
	events   bool                       // has events, so takes --no-events
	series   bool                       // has series, so takes --results
}

// exportKinds lists them. An ending that ends with another one's stands before it.
func exportKinds() []exportKind {
	return []exportKind{
		{ending: ".raw", run: exportRaw, pictures: true},
		{ending: ".y4m", run: exportY4M, pictures: true},
		{ending: ".png", run: exportPNG, pictures: true},
		{ending: ".mp4", run: exportMP4, pictures: true},
		{ending: ".trace.json", run: exportTrace, events: true},
		{ending: ".json", run: exportJSON, events: true},
		{ending: ".csv", run: exportCSV, series: true},
		{ending: ".eid", run: exportEID, pictures: true, events: true},
	}
}

// kind returns the one that OUT's ending names, if all flags go with it.
func (c exportCmd) kind() (exportKind, error) {
	kinds := exportKinds()
	i := slices.IndexFunc(kinds,
		func(k exportKind) bool { return strings.HasSuffix(strings.ToLower(c.Output), k.ending) })
	if i < 0 {
		return exportKind{}, usagef(
			"OUT %q: must end in .raw .y4m .png .mp4 .json .csv .trace.json or .eid",
			c.Output)
	}
	k := kinds[i]
	for _, f := range []struct {
		flag        string
		given, goes bool
	}{
		{"--region", c.Region != "", k.pictures}, {"--redact", len(c.Redact) > 0, k.pictures},
		{"--no-events", c.NoEvents, k.events}, {"--results", c.Results != "", k.series},
	} {
		if f.given && !f.goes {
			return k, usagef("%s cannot be used with %s", f.flag, k.ending)
		}
	}
	return k, nil
}

func (c exportCmd) Run(e *env) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	cut, redact, err := c.regions()
	if err != nil {
		return usageError{err}
	}
	j := &job{env: e, cmd: c}
	if j.reader, err = recording.Open(c.File); err != nil {
		return err
	}
	defer j.reader.Close() // was only read
	if recorder.SameFile(c.File, c.Output) {
		return usagef("%s is the input: choose another name for OUT", c.Output)
	}
	if j.from, j.to, err = c.Frames.in(j.reader.Frames()); err != nil {
		return err
	}
	if j.edit, err = recorder.NewEdit(j.segments(), redact, cut); err != nil {
		return usageError{err}
	}
	j.tell(redact, cut)
	wrote, err := kind.run(j)
	if err != nil {
		return fmt.Errorf("export %s to %s: %w", c.File, c.Output, orInterrupted(err))
	}
	if c.JSON {
		return printJSON(e.out, exportResult{c.File, c.Output, kind.ending[1:], j.from, j.to - j.from})
	}
	_, err = fmt.Fprintln(e.out, wrote)
	return err
}

// regions reads the regions of the command line.
func (c exportCmd) regions() (cut *frame.Region, redact []frame.Region, err error) {
	if c.Region != "" {
		r, err := frame.ParseRegion(c.Region)
		if err != nil {
			return nil, nil, err
		}
		cut = &r
	}
	for _, s := range c.Redact {
		r, err := frame.ParseRegion(s)
		if err != nil {
			return nil, nil, err
		}
		redact = append(redact, r)
	}
	return cut, redact, nil
}

// tell says what is done otherwise than asked for, and what is not.
func (j *job) tell(redact []frame.Region, cut *frame.Region) {
	if j.edit.Cut != nil && *j.edit.Cut != *cut {
		fmt.Fprintf(j.err, "the region shrinks to %v, whole blocks of chroma\n", *j.edit.Cut)
	}
	for i, r := range j.edit.Redact {
		if r != redact[i] {
			fmt.Fprintf(j.err, "%v is painted over, whole blocks of chroma\n", r)
		}
	}
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
			return nil, fmt.Errorf("frames %d:%d change from %v to %v at %d; select frames of one format with --frames",
				j.from, j.to, found.Format, s.Layout.Format, s.First)
		}
		found = s.Layout
	}
	if found == nil {
		return nil, errors.New("no frames to export")
	}
	return found, nil
}

// pictures plays the chosen frames, edited, all of one layout. Its start is told that layout; each
// gets the pictures, which are valid until it returns.
func (j *job) pictures(start func(*frame.Layout) error, each func(n int, m frame.Meta, img frame.Image) error) error {
	layout, err := j.layout()
	if err != nil {
		return err
	}
	editor, err := j.edit.For(layout)
	if err != nil {
		return err
	}
	if err := start(editor.Layout); err != nil {
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
		if err := each(player.Number(), player.Meta(), editor.Image(player.Image())); err != nil {
			return err
		}
		p.set(player.Number() - j.from + 1)
	}
	return player.Err()
}
