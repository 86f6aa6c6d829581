package export

import (
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// Format is the format of frames.
type Format struct {
	Width       int    `json:"width_px"`
	Height      int    `json:"height_px"`
	StrideBytes int    `json:"stride_bytes"`
	Pixel       string `json:"pixel_format"` // V4L2 fourcc
	Range       string `json:"colour_range"`
	Matrix      string `json:"colour_matrix"`
}

// Loss counts the lost frames of a cause.
type Loss struct {
	Cause  string `json:"cause"`
	Frames uint64 `json:"frames"`
}

// NewFormat describes a format.
func NewFormat(f frame.Format) Format {
	return Format{f.Width, f.Height, f.Stride, f.Pixel.String(), f.Range.String(), f.Matrix.String()}
}

// NewLosses describes losses, never as null.
func NewLosses(lost []recorder.Loss) []Loss {
	all := []Loss{}
	for _, l := range lost {
		all = append(all, Loss{l.Cause.String(), l.Frames})
	}
	return all
}

// NewSegments describes segments.
func NewSegments(segments []recorder.Segment) []Segment {
	all := []Segment{}
	for _, s := range segments {
		all = append(all, Segment{s.First, s.Frames, NewFormat(s.Format), s.Period.Num, s.Period.Den,
			s.FemtoPeriod, s.Span.Nanoseconds()})
	}
	return all
}

// Info describes a recording, as eideticker info --json.
type Info struct {
	Path          string     `json:"path"`
	Version       int        `json:"format_version"`
	Writer        string     `json:"writer"`
	Codec         string     `json:"codec"`
	Created       time.Time  `json:"created"`
	Complete      bool       `json:"complete"`
	OwnClock      bool       `json:"own_clock"` // times have no relation to the time of day
	WallOffsetNS  int64      `json:"wall_offset_ns"`
	Frames        uint64     `json:"frames"`
	UniqueFrames  uint64     `json:"unique_frames"`
	FlaggedFrames uint64     `json:"flagged_frames"`
	MissingFrames uint64     `json:"missing_frames"`
	Lost          []Loss     `json:"lost"`
	FirstSequence uint64     `json:"first_sequence"`
	LastSequence  uint64     `json:"last_sequence"`
	DurationNS    int64      `json:"duration_ns"` // first frame to last
	Bytes         int64      `json:"bytes"`
	RawBytes      int64      `json:"raw_bytes"`
	Clocked       bool       `json:"clocked"` // the source has a clock of its own
	Segments      []Segment  `json:"segments"`
	Gaps          int        `json:"gaps"`
	Events        int        `json:"events"`
	Metadata      []Metadata `json:"metadata"`
	Damage        []Damage   `json:"damage"`
}

// Segment is a part of a recording with one format.
type Segment struct {
	FirstFrame int    `json:"first_frame"`
	Frames     int    `json:"frames"`
	Format     Format `json:"format"`
	PeriodNum  int64  `json:"period_num_s"`
	PeriodDen  int64  `json:"period_den"`       // nominal; 0/0 is unknown
	PeriodFS   int64  `json:"fitted_period_fs"` // measured; 0 is unknown
	DurationNS int64  `json:"duration_ns"`      // first frame to last
}

// Damage is a damaged part of a recording.
type Damage struct {
	OffsetBytes int64  `json:"offset_bytes"`
	LengthBytes int64  `json:"length_bytes"`
	What        string `json:"what"`
}

// NewInfo describes a recording and its summary.
func NewInfo(r *recording.Reader, res recorder.Result) Info {
	in := r.Info()
	return Info{
		Path: res.Path, Version: in.Version, Writer: in.Writer, Codec: in.Codec, Created: in.Created,
		Complete: in.Complete, OwnClock: in.OwnClock, WallOffsetNS: in.WallOffset,
		Frames: res.Stored, UniqueFrames: res.Unique, FlaggedFrames: res.Flagged, MissingFrames: res.Missing,
		Lost:          NewLosses(res.Lost),
		FirstSequence: res.First, LastSequence: res.Last, DurationNS: res.Span.Nanoseconds(),
		Bytes: res.Bytes, RawBytes: res.RawBytes, Gaps: len(r.Gaps()), Events: len(r.Events()),
		Clocked: res.Clocked, Segments: NewSegments(res.Segments),
		Metadata: metadataOf(r), Damage: NewDamage(r.Damage()),
	}
}

// NewDamage describes damage.
func NewDamage(damage []recording.Damage) []Damage {
	all := []Damage{}
	for _, d := range damage {
		all = append(all, Damage{d.Offset, d.Length, d.What})
	}
	return all
}
