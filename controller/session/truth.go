package session

import (
	"context"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/groundtruth"
)

// holdAgainst holds what was measured of a page of our own against what it drew, and counts the
// checks. The page tells of all of its pixels: where the test looks at a part of them, or takes
// pixels for equal that are not, nothing is known of what it should measure.
func (s *session) holdAgainst(ctx context.Context, r *recording.Reader, found *runfolder.Found) error {
	t := s.Test
	if s.report == nil || len(found.Outcomes) != 1 || found.Outcomes[0] == nil || t.Region != (frame.Region{}) ||
		len(t.Masks) > 0 || t.Tolerance.Auto || t.Tolerance.N > 0 {
		return nil
	}
	_, end := s.Progress.Phase("holding it against what was drawn", 0)
	defer end()
	page, err := groundtruth.Read(ctx, groundtruth.Input{Reader: r, Outcome: found.Outcomes[0], Masks: found.Masks[0],
		Report: *s.report, Measures: t.Measures})
	if err != nil {
		return err
	}
	w := &found.Results.Windows[0]
	w.Checks, w.Claims = page.Checks, page.Claims
	for i := range page.Checks {
		switch c := &page.Checks[i]; {
		case c.Unchecked:
			s.record.ChecksNotMade = append(s.record.ChecksNotMade, c.What)
			continue
		case c.Failed():
			s.record.ChecksFailed = append(s.record.ChecksFailed, c.What)
			s.log.Warn("not measured as it was drawn", "what", c.What, "measured", c.Measured, "drawn", c.Drawn, "note",
				c.Note)
		}
		s.record.Checks++
	}
	return nil
}
