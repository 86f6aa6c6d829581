package render

import (
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Overlay is what a video says beside its content. The caller's slices are not changed and not kept
// beyond the video.
type Overlay struct {
	Title string        // which run it is; empty for none
	Zero  timeline.Time // the moment that times count from, such as T0
	// First and Last are the frames at the ends of the position line; without them, 0 and 0, there
	// is none.
	First, Last int
	Series      []analyze.Series // each with its value at the frame shown
	Values      []analyze.Value  // of the whole run
	Marks       []Mark
	// Parts are the parts of a video, such as pages that follow each other. From its first frame
	// on, each has its own title, zero of time and values, in place of those above.
	Parts []Part
	// At says when a frame was on the screen, for who knows it better than by its stamp; nil for
	// stamps.
	At func(frame int, stamp timeline.Time) timeline.Time
	// Nothing reports whether a frame is before the first content. The video shows an empty picture
	// in its place. Nil: none is.
	Nothing func(frame int) bool
}

// nothing reports whether an empty picture stands for a frame.
func (o *Overlay) nothing(n int) bool { return o != nil && o.Nothing != nil && o.Nothing(n) }

// Part is a stretch of a video that goes to the next one's first frame.
type Part struct {
	First  int
	Title  string
	Zero   timeline.Time
	Values []analyze.Value
}

// part returns the part that a frame belongs to; frames before the first belong to it too.
func (o *Overlay) part(n int) *Part {
	i, found := slices.BinarySearchFunc(o.Parts, n, func(p Part, n int) int { return p.First - n })
	if !found {
		i--
	}
	return &o.Parts[max(i, 0)]
}

// Mark names a frame.
type Mark struct {
	Frame int    // number
	Until int    // frame before which it is shown; 0: it is shown for a second
	Label string // short: "T0", "start", "torn"
	Tone  Tone
}

// errOverlay is wrapped where an overlay cannot be drawn.
var errOverlay = errors.New("bad overlay")

const (
	maxShown  = 64      // series and values that are looked at
	maxMarks  = 1 << 20 // of a video
	maxLabels = 64      // of different marks
	maxParts  = 1 << 16
)

func (o *Overlay) check() error {
	if len(o.Series) > maxShown || len(o.Values) > maxShown || len(o.Marks) > maxMarks {
		return fmt.Errorf("%w: %d series, %d values and %d marks, want at most %d, %d and %d",
			errOverlay, len(o.Series), len(o.Values), len(o.Marks), maxShown, maxShown, maxMarks)
	}
	if o.First < 0 || o.Last < o.First {
		return fmt.Errorf("%w: it goes from frame %d to %d", errOverlay, o.First, o.Last)
	}
	for _, s := range o.Series {
		if len(s.Frames) != len(s.Values) || !slices.IsSorted(s.Frames) {
			return fmt.Errorf("%w: series %q has %d frames and %d values, want as many, in order", errOverlay, s.Name,
				len(s.Frames), len(s.Values))
		}
	}
	if len(o.Parts) > maxParts || !slices.IsSortedFunc(o.Parts, func(a, b Part) int { return a.First - b.First }) {
		return fmt.Errorf("%w: %d parts, want at most %d, in order", errOverlay, len(o.Parts), maxParts)
	}
	for _, p := range o.Parts {
		if len(p.Values) > maxShown {
			return fmt.Errorf("%w: %d values in a part, want at most %d", errOverlay, len(p.Values), maxShown)
		}
	}
	labels := map[string]bool{}
	for _, m := range o.Marks {
		labels[m.Label] = true
	}
	if len(labels) > maxLabels {
		return fmt.Errorf("%w: %d different marks, want at most %d", errOverlay, len(labels), maxLabels)
	}
	return nil
}

// sortedByFrame returns the marks in order of frames.
func sortedByFrame(marks []Mark) []Mark {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b Mark) int { return a.Frame - b.Frame })
	return marks
}

// chip is a mark that is shown, and whether its frame is the one that is.
type chip struct {
	label string
	tone  Tone
	now   bool
}

// chipsAt appends the marks of frame n and of up to hold frames before it. The latest comes first,
// and each label once. Marks that are shown for longer come last.
func chipsAt(dst []chip, marks, long []Mark, n, hold int) []chip {
	end, _ := slices.BinarySearchFunc(marks, n+1, func(m Mark, n int) int {
		if m.Frame < n {
			return -1
		}
		return 1
	})
	for i := end - 1; i >= 0 && marks[i].Frame > n-hold && len(dst) < maxChips+1; i-- {
		m := marks[i]
		if !slices.ContainsFunc(dst, func(c chip) bool { return c.label == m.Label }) {
			dst = append(dst, chip{m.Label, m.Tone, m.Frame == n})
		}
	}
	for _, m := range long {
		if m.Frame <= n && n < m.Until && len(dst) < maxChips+1 &&
			!slices.ContainsFunc(dst, func(c chip) bool { return c.label == m.Label }) {
			dst = append(dst, chip{m.Label, m.Tone, m.Frame == n})
		}
	}
	return dst
}

// longMarks returns the marks that are shown for longer than hold frames.
func longMarks(marks []Mark, hold int) (long []Mark) {
	for _, m := range marks {
		if m.Until > m.Frame+hold {
			long = append(long, m)
		}
	}
	return long
}
