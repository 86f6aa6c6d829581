package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
)

type recordCmd struct {
	Source   string         `short:"s" required:"" placeholder:"SOURCE" complete:"x11: raw: y4m: video: synth:" help:"What to record, as a URI; eideticker sources lists what there is."`
	Output   string         `short:"o" required:"" placeholder:"FILE.eid" complete:"files" help:"The recording."`
	Duration *time.Duration `short:"t" placeholder:"30s" help:"How long; without it until Ctrl-C or the source's end."`
	Ring     byteSize       `placeholder:"4GiB" help:"Memory between source and disk. Chosen by the source's rate if not given."`
	FPS      string         `name:"fps" placeholder:"N" help:"Frames a second, for sources that can choose."`
	KeepLast *time.Duration `placeholder:"30s" help:"Record in a circle until told to stop, then keep what was last."`
	Force    bool           `help:"Overwrite the file if it exists."`
	JSON     bool           `help:"Print the result as one JSON object."`
}

func (recordCmd) Help() string {
	return `Example:

  eideticker record -s 'x11::0?fps=60' -o desk.eid -t 30s

Ctrl-C ends a recording cleanly; a second one ends the program at once. Frames that could not be kept are counted and recorded as gaps.`
}

func (c recordCmd) Run(e *env) error {
	duration, err := positive("--duration", c.Duration)
	if err != nil {
		return err
	}
	keepLast, err := positive("--keep-last", c.KeepLast)
	if err != nil {
		return err
	}
	uri, err := c.uri()
	if err != nil {
		return err
	}
	src, err := openSource(uri)
	if err != nil {
		return err
	}
	what := "recording " + uri + ", Ctrl-C ends it"
	if keepLast > 0 {
		what = fmt.Sprintf("recording %s, Ctrl-C saves the last %v", uri, keepLast)
	}
	return e.record(src, c.Output, what, rig.Options{
		Duration: duration, RingBytes: int64(c.Ring), KeepLast: keepLast, Force: c.Force,
	}, c.JSON)
}

// positive returns a duration that was given, or 0 for none.
func positive(flag string, d *time.Duration) (time.Duration, error) {
	switch {
	case d == nil:
		return 0, nil
	case *d <= 0:
		return 0, usagef("%s %v is no time at all: leave it out, or give one such as 30s", flag, *d)
	}
	return *d, nil
}

// uri returns the source with --fps put in.
func (c recordCmd) uri() (string, error) {
	if c.FPS == "" {
		return c.Source, nil
	}
	scheme, _, _ := strings.Cut(c.Source, ":")
	if scheme == "y4m" || scheme == "video" {
		return "", usagef("--fps does not go with %s: its frames bring times of their own", scheme)
	}
	if _, _, err := frame.ParseRate(c.FPS); err != nil {
		return "", usagef("--fps: %w", err)
	}
	uri, err := rig.WithParameter(c.Source, "fps", c.FPS)
	if err != nil {
		return "", usageError{err}
	}
	return uri, nil
}

// openSource tells mistakes in the URI, which are usage, from trouble with what it names.
func openSource(uri string) (capture.Source, error) {
	src, err := rig.OpenSource(uri)
	if errors.Is(err, rig.ErrURI) {
		return nil, usageError{err}
	}
	return src, err
}

// record records with progress and prints the result, also that of a recording that failed on the way. It
// closes the source.
func (e *env) record(src capture.Source, path, what string, o rig.Options, asJSON bool) error {
	if rig.Reads(src.Info().URI, path) {
		return errors.Join(usagef("%s is what is read: choose another name for the recording", path), src.Close())
	}
	total := 0
	if n := src.Info().Frames; n < 1<<31 {
		total = int(n)
	}
	var p *progress // begun with the first report, so that what cannot begin is not announced
	o.Progress = func(at rig.Progress) {
		if p == nil {
			p = e.phase(what, total)
		}
		p.describe(what + progressText(at, total))
		p.set(int(at.Frames))
	}
	o.Program = program()
	res, err := rig.Record(e.ctx, src, path, o)
	if p != nil {
		p.end()
	}
	err = errors.Join(err, src.Close())
	if res.Path == "" { // nothing was begun
		return err
	}
	if asJSON {
		return errors.Join(err, printJSON(e.out, recordResult(src.Info(), res, err)))
	}
	return errors.Join(err, printRecorded(e, res))
}

// progressText is what a bar cannot show. The number of frames is beside the bar where their total is known.
func progressText(at rig.Progress, total int) string {
	var text string
	if total <= 0 {
		text = fmt.Sprintf(": %s, %s", plural(at.Frames, "frame"), bytesText(at.Bytes))
	}
	if at.Missing > 0 {
		text += fmt.Sprintf("; %s lost", countText(at.Missing))
	}
	return text
}

// recordJSON is what record --json and import --json print.
type recordJSON struct {
	Path          string     `json:"path"`
	Source        string     `json:"source"`
	Format        formatJSON `json:"format"`
	Ended         string     `json:"ended"`
	Frames        uint64     `json:"frames"`
	UniqueFrames  uint64     `json:"unique_frames"`
	MissingFrames uint64     `json:"missing_frames"`
	Lost          []lostJSON `json:"lost"`
	FirstSequence uint64     `json:"first_sequence"`
	LastSequence  uint64     `json:"last_sequence"`
	DurationNS    int64      `json:"duration_ns"`
	ElapsedNS     int64      `json:"elapsed_ns"`
	Bytes         int64      `json:"bytes"`
	RawBytes      int64      `json:"raw_bytes"`
	DirectIO      bool       `json:"direct_io"`
	DirectIONote  string     `json:"direct_io_note,omitempty"`
	RingBytes     int        `json:"ring_bytes"`
	RingSlots     int        `json:"ring_slots"`
	RingHighWater int        `json:"ring_high_water_slots"`
	Error         string     `json:"error,omitempty"`
}

type formatJSON struct {
	Width       int    `json:"width_px"`
	Height      int    `json:"height_px"`
	StrideBytes int    `json:"stride_bytes"`
	Pixel       string `json:"pixel_format"`
	Range       string `json:"colour_range"`
	Matrix      string `json:"colour_matrix"`
}

type lostJSON struct {
	Cause  string `json:"cause"`
	Frames uint64 `json:"frames"`
}

func describeFormat(f frame.Format) formatJSON {
	return formatJSON{f.Width, f.Height, f.Stride, f.Pixel.String(), f.Range.String(), f.Matrix.String()}
}

func describeLost(lost []rig.Loss) []lostJSON {
	all := []lostJSON{} // never null
	for _, l := range lost {
		all = append(all, lostJSON{l.Cause.String(), l.Frames})
	}
	return all
}

func recordResult(info capture.Info, r rig.Result, err error) recordJSON {
	j := recordJSON{
		Path: r.Path, Source: info.URI, Format: describeFormat(r.Format), Ended: string(r.Ended),
		Frames: r.Stored, UniqueFrames: r.Unique, MissingFrames: r.Missing, Lost: describeLost(r.Lost),
		FirstSequence: r.First, LastSequence: r.Last,
		DurationNS: r.Span.Nanoseconds(), ElapsedNS: r.Elapsed.Nanoseconds(),
		Bytes: r.Bytes, RawBytes: r.RawBytes, DirectIO: r.Direct, DirectIONote: r.DirectNote,
		RingBytes: r.RingBytes, RingSlots: r.RingSlots, RingHighWater: r.RingHighWater,
	}
	if err != nil {
		j.Error = err.Error()
	}
	return j
}

func printRecorded(e *env, r rig.Result) error {
	var l list
	l.add("recording", "%s", r.Path)
	l.add("format", "%v", r.Format)
	l.add("ended", "%s after %s", r.Ended, secondsText(r.Elapsed))
	addAccount(&l, r)
	l.add("size", "%s", sizeText(r))
	l.add("ring", "%d slots, %s; at most %d in use", r.RingSlots, bytesText(r.RingBytes), r.RingHighWater)
	if !r.Direct {
		l.add("disk", "%s", r.DirectNote)
	}
	return l.print(e.out)
}

// addAccount lists what became of the frames.
func addAccount(l *list, r rig.Result) {
	l.add("frames", "%s, %s unique, in %s", countText(r.Stored), countText(r.Unique), secondsText(r.Span))
	l.add("lost", "%s", lostText(r.Account))
	if r.Total > 0 {
		l.add("account", "%s stored + %s missing = %s, numbers %d to %d", countText(r.Stored), countText(r.Missing), countText(r.Total), r.First, r.Last)
	}
}

func lostText(a rig.Account) string {
	if a.Missing == 0 {
		return "0"
	}
	var causes []string
	for _, l := range a.Lost {
		causes = append(causes, countText(l.Frames)+" "+l.Cause.String())
	}
	return countText(a.Missing) + ": " + strings.Join(causes, ", ")
}

func sizeText(r rig.Result) string {
	s := bytesText(r.Bytes)
	if ratio := ratioText(r.RawBytes, r.Bytes); ratio != "" {
		s += fmt.Sprintf(" for %s of pixels, %s", bytesText(r.RawBytes), ratio)
	}
	return s
}
