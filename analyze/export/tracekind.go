package export

import (
	"context"
	"errors"

	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/capture/frame"
)

// frameKinds names frames by the first kind that applies:
//
//	green, red           of a sync marker that was held
//	no signal, damaged   as the source flagged it
//	repeat               the same pixels as the frame before
//	after dropped frames by the code strip, frames were drawn before it that were never seen
//	late frame           the frame before it was one of the long_frames of measure fps
//	new frame            any other
//
// Kinds of drawn frames need the run's results. Frames come in order.
type frameKinds struct {
	markers []markerSpan
	long    map[int]bool   // frames that stayed too long
	behind  map[int]bool   // frames behind dropped ones
	late    bool           // the next new frame is late
	causes  map[int]string // of late frames, by their scripts
}

// markerSpan is a marker of frames from First to Last.
type markerSpan struct {
	name        string
	first, last int
}

func (s *Selection) frameKinds(ctx context.Context) (*frameKinds, error) {
	k := &frameKinds{long: map[int]bool{}, behind: map[int]bool{}, causes: map[int]string{}}
	windows, err := marker.Find(s.Reader, 0, s.Reader.Frames(), marker.Options{Stop: ctx.Err})
	var problems *marker.Error
	switch {
	case errors.As(err, &problems):
		if problems.Open != nil {
			open := *problems.Open
			open.Red, open.RedTo = s.Reader.Frames(), -1
			windows = append(windows, open)
		}
	case err != nil:
		return nil, err
	}
	for _, w := range windows {
		k.markers = append(k.markers, markerSpan{"green", w.GreenFrom, w.Start - 1}, markerSpan{"red", w.Red, w.RedTo})
	}
	r, err := s.results()
	if err != nil || r == nil {
		return k, err
	}
	if r.Script != nil {
		for _, l := range r.Script.Late {
			k.causes[l.Frame] = l.Sentence
		}
	}
	for i := range r.Windows {
		for _, m := range r.Windows[i].Results {
			if m.Measure != "fps" {
				continue
			}
			for value, frames := range map[string]map[int]bool{"long_frames": k.long, "dropped_frames": k.behind} {
				v, _ := m.Find(value)
				for _, n := range v.Frames {
					frames[n] = true
				}
			}
		}
	}
	return k, s.isLate(ctx, k)
}

// isLate finds out if the first new frame of the selection is late: if the last new frame before it
// was a long one.
func (s *Selection) isLate(ctx context.Context, k *frameKinds) error {
	last := -1
	for n := range k.long {
		if n < s.From {
			last = max(last, n)
		}
	}
	if last < 0 {
		return nil
	}
	changes := s.Reader.Timeline(last+1, s.From)
	for changes.Next() {
		bytes, _, _ := changeSize(changes.Change())
		if bytes > 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	k.late = changes.Err() == nil
	return changes.Err()
}

// of returns the kind of frame n.
func (k *frameKinds) of(n int, unique bool, flags frame.Flags) string {
	for len(k.markers) > 0 && n > k.markers[0].last {
		k.markers = k.markers[1:]
	}
	late := k.late && unique
	if unique {
		k.late = false
	}
	k.late = k.late || k.long[n]
	switch {
	case len(k.markers) > 0 && n >= k.markers[0].first:
		return k.markers[0].name
	case flags&frame.FlagSignalLost != 0:
		return "no signal"
	case flags&frame.FlagError != 0:
		return "damaged"
	case !unique:
		return "repeat"
	case k.behind[n]:
		return "after dropped frames"
	case late:
		return "late frame"
	}
	return "new frame"
}
