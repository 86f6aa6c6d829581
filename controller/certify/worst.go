package certify

import (
	"bytes"
	"image"
	"image/png"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// WriteEvidence writes the certificate and pictures beside a recording. They are the worst frame as
// captured and as sent.
func WriteEvidence(folder, recording string, c Certificate) error {
	if c.Report.Tells() {
		if err := c.write(filepath.Join(folder, "certificate.json")); err != nil {
			return err
		}
	}
	came, sent, err := worstFrame(recording, c.Report)
	if err != nil || came == nil {
		return err
	}
	if err := writePNG(filepath.Join(folder, "worst-came.png"), came); err != nil || sent == nil {
		return err
	}
	return writePNG(filepath.Join(folder, "worst-sent.png"), sent)
}

func writePNG(path string, m image.Image) error {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return err
	}
	return staging.WriteFile(path, b.Bytes(), 0o644)
}

// worstFrame returns the frame with the most faults in the report. It also returns the sent picture
// if the frame's number can be read. Both are nil if no single frame has a fault.
func worstFrame(path string, r *Report) (came, sent image.Image, err error) {
	n := r.Time.Worst
	if n < 0 {
		n = r.Exactness.Worst
	}
	if n < 0 && r.Verdict == Fail { // something that is wrong in all frames
		n = r.Mode.First + r.Mode.Frames/2
	}
	if n < 0 {
		return nil, nil, nil
	}
	rec, err := recording.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer rec.Close() // was only read
	img, err := rec.Image(n)
	if err != nil {
		return nil, nil, err
	}
	came = frame.NewConverter(img.Layout).Picture(img)
	e, err := readEvidence(rec)
	if err != nil {
		return nil, nil, err
	}
	finder, err := strip.NewFinder(img.Layout)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range finder.Find(img) {
		if picture := int(l.Code.ID) - firstID; l.Code == e.pattern.code(picture) {
			sent, err = e.pattern.picture(picture)
			return came, sent, err
		}
	}
	return came, nil, nil
}

// picture returns picture n for encoders.
func (p *Pattern) picture(n int) (image.Image, error) {
	q, err := newPainter(p)
	if err != nil {
		return nil, err
	}
	if _, err := q.paint(n); err != nil {
		return nil, err
	}
	return frame.NewConverter(q.view.Layout).Picture(q.view), nil
}
