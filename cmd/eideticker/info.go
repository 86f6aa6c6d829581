package main

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/certify"
)

type infoCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A recording."`
	JSON bool   `help:"Print one JSON object."`
}

func (infoCmd) Help() string {
	return `Example:

  eideticker info desk.eid --json`
}

func (c infoCmd) Run(e *env) error {
	r, err := recording.Open(c.File)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	res, err := recorder.SummarizeReader(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	res.Path, res.Bytes = c.File, r.Info().Bytes
	if c.JSON {
		return printJSON(e.out, describeRecording(r, res))
	}
	return printInfo(e, r, res)
}

// infoJSON is what info --json prints.
type infoJSON struct {
	Path          string            `json:"path"`
	Version       int               `json:"format_version"`
	Writer        string            `json:"writer"`
	Codec         string            `json:"codec"`
	Created       time.Time         `json:"created"`
	Complete      bool              `json:"complete"`
	OwnClock      bool              `json:"own_clock"`
	WallOffsetNS  int64             `json:"wall_offset_ns"`
	Frames        uint64            `json:"frames"`
	UniqueFrames  uint64            `json:"unique_frames"`
	FlaggedFrames uint64            `json:"flagged_frames"`
	MissingFrames uint64            `json:"missing_frames"`
	Lost          []lostJSON        `json:"lost"`
	FirstSequence uint64            `json:"first_sequence"`
	LastSequence  uint64            `json:"last_sequence"`
	DurationNS    int64             `json:"duration_ns"`
	Bytes         int64             `json:"bytes"`
	RawBytes      int64             `json:"raw_bytes"`
	Clocked       bool              `json:"clocked"`
	Segments      []segmentJSON     `json:"segments"`
	Gaps          int               `json:"gaps"`
	Events        int               `json:"events"`
	Metadata      []export.Metadata `json:"metadata"`
	Damage        []damageJSON      `json:"damage"`
}

type segmentJSON struct {
	FirstFrame int        `json:"first_frame"`
	Frames     int        `json:"frames"`
	Format     formatJSON `json:"format"`
	PeriodNum  int64      `json:"period_num_s"`
	PeriodDen  int64      `json:"period_den"`
	PeriodFS   int64      `json:"fitted_period_fs"`
	DurationNS int64      `json:"duration_ns"`
}

type damageJSON struct {
	OffsetBytes int64  `json:"offset_bytes"`
	LengthBytes int64  `json:"length_bytes"`
	What        string `json:"what"`
}

func describeRecording(r *recording.Reader, res recorder.Result) infoJSON {
	in := r.Info()
	j := infoJSON{
		Path: res.Path, Version: in.Version, Writer: in.Writer, Codec: in.Codec, Created: in.Created,
		Complete: in.Complete, OwnClock: in.OwnClock, WallOffsetNS: in.WallOffset,
		Frames: res.Stored, UniqueFrames: res.Unique, FlaggedFrames: res.Flagged, MissingFrames: res.Missing,
		Lost:          describeLost(res.Lost),
		FirstSequence: res.First, LastSequence: res.Last, DurationNS: res.Span.Nanoseconds(),
		Bytes: res.Bytes, RawBytes: res.RawBytes, Gaps: len(r.Gaps()), Events: len(r.Events()),
		Clocked: res.Clocked, Segments: describeSegments(res.Segments),
		Metadata: export.MetadataOf(r), Damage: describeDamage(r.Damage()),
	}
	return j
}

func describeDamage(damage []recording.Damage) []damageJSON {
	all := []damageJSON{}
	for _, d := range damage {
		all = append(all, damageJSON{d.Offset, d.Length, d.What})
	}
	return all
}

func printInfo(e *env, r *recording.Reader, res recorder.Result) error {
	in := r.Info()
	var l list
	l.add("recording", "%s", res.Path)
	l.add("written", "%s by %s", in.Created.Local().Format("2006-01-02 15:04:05 MST"), in.Writer)
	if in.Complete {
		l.add("state", "complete")
	} else {
		l.add("state", "not closed: still being written, or left by a crash (eideticker repair closes it)")
	}
	addSegments(&l, res.Segments)
	addAccount(&l, res)
	l.add("size", "%s", sizeText(res))
	l.add("clock", "%s", clockText(in))
	l.add("events", "%d", len(r.Events()))
	for _, m := range r.Metadata() {
		if m.Name == analyze.CertificateMetadata {
			l.add("certificate", "%s", certify.StandingText(m.Value))
			continue
		}
		l.add("metadata", "%s, %s", m.Name, bytesText(len(m.Value)))
	}
	damage := r.Damage()
	for _, d := range damage[:min(len(damage), maxDamage)] {
		l.add("damage", "%s", damageText(d))
	}
	if more := len(damage) - maxDamage; more > 0 {
		l.add("", "and %s; --json lists all", plural(more, "more place"))
	}
	return l.print(e.out)
}

// maxDamage is how many damaged places a person is shown.
const maxDamage = 10

func clockText(in recording.Info) string {
	if in.OwnClock {
		return "the file's own"
	}
	return "the rig's"
}

func damageText(d recording.Damage) string {
	return fmt.Sprintf("offset %d, %d bytes: %s", d.Offset, d.Length, d.What)
}

func segmentText(s recorder.Segment, several bool) string {
	text := s.Format.String()
	if f := s.Format; !f.Pixel.IsRGB() {
		text += fmt.Sprintf(", %v range, %v", f.Range, f.Matrix)
	}
	if s.Period.Num > 0 && s.Period.Den > 0 {
		text += fmt.Sprintf(", %.4g frames a second", float64(s.Period.Den)/float64(s.Period.Num))
	}
	if s.FemtoPeriod > 0 {
		text += fmt.Sprintf(" (measured %.4f)", 1e15/float64(s.FemtoPeriod))
	}
	if several {
		text += fmt.Sprintf(", frames %d:%d, %s", s.First, s.First+s.Frames, secondsText(s.Span))
	}
	return text
}
