package certify

import (
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// WorstFrame returns the frame with the most faults in the report. It also returns the sent picture
// if the frame's number can be read. Both are nil if no single frame has a fault.
func WorstFrame(path string, r *Report) (came, sent image.Image, err error) {
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
