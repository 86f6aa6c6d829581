package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
)

// recordingsJSON is the output of record --json with several sources.
type recordingsJSON struct {
	Recordings []recordJSON `json:"recordings"`
}

// recordJSON is the output of record --json and import --json.
type recordJSON struct {
	Path          string           `json:"path"`
	Source        string           `json:"source"`
	Format        export.Format    `json:"format"`
	Ended         string           `json:"ended"` // source ended, interrupted, duration over, …
	Frames        uint64           `json:"frames"`
	UniqueFrames  uint64           `json:"unique_frames"`
	FlaggedFrames uint64           `json:"flagged_frames"`
	MissingFrames uint64           `json:"missing_frames"`
	Lost          []export.Loss    `json:"lost"`
	FirstSequence uint64           `json:"first_sequence"`
	LastSequence  uint64           `json:"last_sequence"`
	DurationNS    int64            `json:"duration_ns"`
	ElapsedNS     int64            `json:"elapsed_ns"`
	Bytes         int64            `json:"bytes"`
	RawBytes      int64            `json:"raw_bytes"` // of the frames, unpacked
	DirectIO      bool             `json:"direct_io"`
	DirectIONote  string           `json:"direct_io_note,omitempty"`
	RingBytes     int              `json:"ring_bytes"` // of all rings
	RingSlots     int              `json:"ring_slots"`
	RingHighWater int              `json:"ring_high_water_slots"` // of the fullest ring, if the format changed
	Clocked       bool             `json:"clocked"`
	Segments      []export.Segment `json:"segments"`
	Notes         []string         `json:"notes"` // rights and limits that the system did not give
	Certificate   json.RawMessage  `json:"certificate,omitempty"`
	Results       json.RawMessage  `json:"results,omitempty"` // with --analyze, as in results.json
	Live          *liveJSON        `json:"live,omitempty"`
	Error         string           `json:"error,omitempty"` // the exit code is 1
}

// certificate returns the certificate in a recording's metadata, or nil.
func certificate(in recorder.Input) json.RawMessage {
	for _, m := range in.Options.Metadata {
		if m.Name == response.CertificateMetadata {
			return m.Value
		}
	}
	return nil
}

func recordResult(info capture.Info, r recorder.Result, err error) recordJSON {
	j := recordJSON{
		Path: r.Path, Source: info.URI, Format: export.NewFormat(r.Format), Ended: string(r.Ended),
		Frames: r.Stored, UniqueFrames: r.Unique, FlaggedFrames: r.Flagged, MissingFrames: r.Missing,
		Lost:          export.NewLosses(r.Lost),
		FirstSequence: r.First, LastSequence: r.Last,
		DurationNS: r.Span.Nanoseconds(), ElapsedNS: r.Elapsed.Nanoseconds(),
		Bytes: r.Bytes, RawBytes: r.RawBytes, DirectIO: r.Direct, DirectIONote: r.DirectNote,
		RingBytes: r.RingBytes, RingSlots: r.RingSlots, RingHighWater: r.RingHighWater,
		Clocked: r.Clocked, Segments: export.NewSegments(r.Segments), Notes: append([]string{}, r.Notes...),
	}
	if err != nil {
		j.Error = err.Error()
	}
	return j
}

// printRecorded prints a result. Several sources are named.
func printRecorded(e *env, source string, certificate json.RawMessage, r recorder.Result) error {
	var l terminal.List
	l.Add("recording", "%s", r.Path)
	l.Add("source", "%s", source)
	addSegments(&l, r.Segments)
	l.Add("ended", "%s after %s", r.Ended, secondsText(r.Elapsed))
	addAccount(&l, r)
	l.Add("size", "%s", sizeText(r))
	l.Add("ring", "%d slots, %s; at most %d in use", r.RingSlots, bytesText(r.RingBytes), r.RingHighWater)
	if !r.Direct {
		l.Add("disk", "%s", r.DirectNote)
	}
	if certificate != nil {
		l.Add("certificate", "%s", certify.StandingText(certificate))
	}
	for _, note := range r.Notes {
		l.Add("note", "%s", note)
	}
	return l.Print(e.out)
}

// maxSegments is the number of listed formats.
const maxSegments = 10

// addSegments lists the formats of a signal. Formats without frames are omitted if there are
// others.
func addSegments(l *terminal.List, all []recorder.Segment) {
	shown := slices.DeleteFunc(slices.Clone(all), func(s recorder.Segment) bool { return s.Frames == 0 })
	if len(shown) == 0 {
		shown = all[:min(len(all), 1)]
	}
	for _, s := range shown[:min(len(shown), maxSegments)] {
		l.Add("format", "%s", segmentText(s, len(shown) > 1))
	}
	if more := len(shown) - maxSegments; more > 0 {
		l.Add("", "and %s; --json lists all", plural(more, "more segment"))
	}
}

// addAccount lists stored and lost frames.
func addAccount(l *terminal.List, r recorder.Result) {
	l.Add("frames", "%s, %s unique, in %s", countText(r.Stored), countText(r.Unique), secondsText(r.Span))
	l.Add("lost", "%s", lostText(r.Account))
	if r.Total > 0 {
		l.Add("account", "%s stored%s + %s missing = %s, numbers %d to %d", countText(r.Stored), flaggedText(r),
			countText(r.Missing), countText(r.Total), r.First, r.Last)
	}
}

// flaggedText counts damaged frames. Files cannot detect them.
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
