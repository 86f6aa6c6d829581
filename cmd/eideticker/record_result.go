package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
)

// recordingsJSON is what record --json prints of several sources.
type recordingsJSON struct {
	Recordings []recordJSON `json:"recordings"`
}

// recordJSON is what record --json and import --json print of one.
type recordJSON struct {
	Path          string          `json:"path"`
	Source        string          `json:"source"`
	Format        formatJSON      `json:"format"`
	Ended         string          `json:"ended"`
	Frames        uint64          `json:"frames"`
	UniqueFrames  uint64          `json:"unique_frames"`
	FlaggedFrames uint64          `json:"flagged_frames"`
	MissingFrames uint64          `json:"missing_frames"`
	Lost          []lostJSON      `json:"lost"`
	FirstSequence uint64          `json:"first_sequence"`
	LastSequence  uint64          `json:"last_sequence"`
	DurationNS    int64           `json:"duration_ns"`
	ElapsedNS     int64           `json:"elapsed_ns"`
	Bytes         int64           `json:"bytes"`
	RawBytes      int64           `json:"raw_bytes"`
	DirectIO      bool            `json:"direct_io"`
	DirectIONote  string          `json:"direct_io_note,omitempty"`
	RingBytes     int             `json:"ring_bytes"`
	RingSlots     int             `json:"ring_slots"`
	RingHighWater int             `json:"ring_high_water_slots"`
	Clocked       bool            `json:"clocked"`
	Segments      []segmentJSON   `json:"segments"`
	Notes         []string        `json:"notes"`
	Certificate   json.RawMessage `json:"certificate,omitempty"`
	Results       json.RawMessage `json:"results,omitempty"` // with --analyze, as in results.json
	Live          *liveJSON       `json:"live,omitempty"`
	Error         string          `json:"error,omitempty"`
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

func describeLost(lost []recorder.Loss) []lostJSON {
	all := []lostJSON{} // never null
	for _, l := range lost {
		all = append(all, lostJSON{l.Cause.String(), l.Frames})
	}
	return all
}

func describeSegments(segments []recorder.Segment) []segmentJSON {
	all := []segmentJSON{}
	for _, s := range segments {
		all = append(all, segmentJSON{s.First, s.Frames, describeFormat(s.Format), s.Period.Num, s.Period.Den,
			s.FemtoPeriod, s.Span.Nanoseconds()})
	}
	return all
}

// certificate returns what a recording of an input says of its source's certificate, or nothing
// where none is needed.
func certificate(in recorder.Input) json.RawMessage {
	for _, m := range in.Options.Metadata {
		if m.Name == analyze.CertificateMetadata {
			return m.Value
		}
	}
	return nil
}

func recordResult(info capture.Info, r recorder.Result, err error) recordJSON {
	j := recordJSON{
		Path: r.Path, Source: info.URI, Format: describeFormat(r.Format), Ended: string(r.Ended),
		Frames: r.Stored, UniqueFrames: r.Unique, FlaggedFrames: r.Flagged, MissingFrames: r.Missing,
		Lost:          describeLost(r.Lost),
		FirstSequence: r.First, LastSequence: r.Last,
		DurationNS: r.Span.Nanoseconds(), ElapsedNS: r.Elapsed.Nanoseconds(),
		Bytes: r.Bytes, RawBytes: r.RawBytes, DirectIO: r.Direct, DirectIONote: r.DirectNote,
		RingBytes: r.RingBytes, RingSlots: r.RingSlots, RingHighWater: r.RingHighWater,
		Clocked: r.Clocked, Segments: describeSegments(r.Segments), Notes: append([]string{}, r.Notes...),
	}
	if err != nil {
		j.Error = err.Error()
	}
	return j
}

// printRecorded prints a result for people; source is named where there are several, certificate is
// what [certificate] returns.
func printRecorded(e *env, source string, certificate json.RawMessage, r recorder.Result) error {
	var l list
	l.add("recording", "%s", r.Path)
	l.add("source", "%s", source)
	addSegments(&l, r.Segments)
	l.add("ended", "%s after %s", r.Ended, secondsText(r.Elapsed))
	addAccount(&l, r)
	l.add("size", "%s", sizeText(r))
	l.add("ring", "%d slots, %s; at most %d in use", r.RingSlots, bytesText(r.RingBytes), r.RingHighWater)
	if !r.Direct {
		l.add("disk", "%s", r.DirectNote)
	}
	if certificate != nil {
		l.add("certificate", "%s", certify.StandingText(certificate))
	}
	for _, note := range r.Notes {
		l.add("note", "%s", note)
	}
	return l.print(e.out)
}

// maxSegments is how many formats a person is shown.
const maxSegments = 10

// addSegments lists the formats that a signal had. Those that delivered no frame are left out where
// there are others.
func addSegments(l *list, all []recorder.Segment) {
	shown := slices.DeleteFunc(slices.Clone(all), func(s recorder.Segment) bool { return s.Frames == 0 })
	if len(shown) == 0 {
		shown = all[:min(len(all), 1)]
	}
	for _, s := range shown[:min(len(shown), maxSegments)] {
		l.add("format", "%s", segmentText(s, len(shown) > 1))
	}
	if more := len(shown) - maxSegments; more > 0 {
		l.add("", "and %s; --json lists all", plural(more, "more segment"))
	}
}

// addAccount lists what became of the frames.
func addAccount(l *list, r recorder.Result) {
	l.add("frames", "%s, %s unique, in %s", countText(r.Stored), countText(r.Unique), secondsText(r.Span))
	l.add("lost", "%s", lostText(r.Account))
	if r.Total > 0 {
		l.add("account", "%s stored%s + %s missing = %s, numbers %d to %d", countText(r.Stored), flaggedText(r),
			countText(r.Missing), countText(r.Total), r.First, r.Last)
	}
}

// flaggedText says how many frames came damaged. A file has no way to tell, and need not deny it.
func flaggedText(r recorder.Result) string {
	if !r.Clocked && r.Flagged == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of them flagged as damaged)", countText(r.Flagged))
}

func lostText(a recorder.Account) string {
	if a.Missing == 0 {
		return "0"
	}
	var causes []string
	for _, l := range a.Lost {
		causes = append(causes, countText(l.Frames)+" "+l.Cause.String())
	}
	return countText(a.Missing) + ": " + strings.Join(causes, ", ")
}

func sizeText(r recorder.Result) string {
	s := bytesText(r.Bytes)
	if ratio := ratioText(r.RawBytes, r.Bytes); ratio != "" {
		s += fmt.Sprintf(" for %s of pixels, %s", bytesText(r.RawBytes), ratio)
	}
	return s
}
