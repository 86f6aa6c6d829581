package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/certify"
)

type infoCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A recording or a run folder."`
	JSON bool   `help:"Print one JSON object."`
}

func (infoCmd) Help() string {
	return `Example:

  eideticker info desk.eid --json`
}

func (c infoCmd) Run(e *env) error {
	r, file, err := openRecording(c.File)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	res, err := recorder.SummarizeReader(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	res.Path, res.Bytes = file, r.Info().Bytes
	if c.JSON {
		return printJSON(e.out, export.NewInfo(r, res))
	}
	return printInfo(e, r, res)
}

func printInfo(e *env, r *recording.Reader, res recorder.Result) error {
	in := r.Info()
	var l terminal.List
	l.Add("recording", "%s", res.Path)
	l.Add("written", "%s by %s", in.Created.Local().Format("2006-01-02 15:04:05 MST"), in.Writer)
	if in.Complete {
		l.Add("state", "complete")
	} else {
		l.Add("state", "not closed: still being written, or left by a crash (eideticker repair closes it)")
	}
	addSegments(&l, res.Segments)
	addAccount(&l, res)
	l.Add("size", "%s", sizeText(res))
	l.Add("clock", "%s", clockText(in))
	l.Add("events", "%d", len(r.Events()))
	for _, m := range r.Metadata() {
		if m.Name == response.CertificateMetadata {
			l.Add("certificate", "%s", certify.StandingText(m.Value))
			continue
		}
		l.Add("metadata", "%s, %s", m.Name, bytesText(len(m.Value)))
	}
	addDamage(&l, "damage", r.Damage())
	return l.Print(e.out)
}

// addDamage lists damaged places.
func addDamage(l *terminal.List, name string, all []recording.Damage) {
	for _, d := range all[:min(len(all), maxDamage)] {
		l.Add(name, "%s", d.String())
	}
	if more := len(all) - maxDamage; more > 0 {
		l.Add("", "and %s; --json lists all", plural(more, "more place"))
	}
}

// maxDamage is how many damaged places a person is shown.
const maxDamage = 10

func clockText(in recording.Info) string {
	if in.OwnClock {
		return "the file's own"
	}
	return "the rig's"
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
