package perfetto

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
)

// compositorFrame passes on the frame of a compositor, which has a track of its own. Stages of the
// frame are slices within it. It returns false for events of other tracks.
func (r *reader) compositorFrame(e *chrome.Event, track, kind uint64, reporter []byte) bool {
	open := r.compositor[track]
	switch {
	case kind == sliceBegin && (open > 0 || string(e.Name) == pipeline && len(r.compositor) < activity.MaxFrames):
		r.compositor[track]++
	case kind == sliceEnd && open > 0:
		if r.compositor[track]--; open == 1 {
			delete(r.compositor, track)
		}
	default:
		return false
	}
	switch {
	case open > 1 || open == 1 && kind == sliceBegin:
		return true // a stage
	case open == 1:
		e.Phase, e.Name = 'e', []byte(pipeline)
	default:
		n := numbers(reporter)
		e.Phase, e.Args = 'b', fmt.Appendf(nil,
			`{"frame_reporter":{"state":%q,"affects_smoothness":%t,"layer_tree_host_id":%d}}`,
			states[min(n[reporterState], uint64(len(states)-1))], n[reporterSmooth] != 0, int32(n[reporterHost]))
	}
	e.ID = strconv.AppendUint(nil, track, 10)
	_ = r.events.Add(e) // frames make no record
	return true
}

// pipeline is the name of a compositor's frame.
const pipeline = `"PipelineReporter"`

// states are those of a compositor's frame.
var states = []string{"STATE_NO_UPDATE_DESIRED", "STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL", "STATE_DROPPED",
	"unknown"}

// actual is a frame of Android's FrameTimeline. Frames of surfaces are parts of frames of displays.
type actual struct {
	activity.Frame
	display uint64 // the display's frame
	surface bool
}

// Values of a frame's presentation and jank.
const (
	presentLate    = 2
	presentDropped = 4
	harmless       = 1 | 2048 // no jank, or of a surface that does not move
)

// frameEvent reads the begin or the end of a frame of the FrameTimeline. Expected frames are plans.
func (r *reader) frameEvent(raw []byte, at int64) {
	fields(raw, func(of field) {
		n := numbers(of.bytes)
		f := actual{Frame: activity.Frame{Begin: at}, display: n[displayToken]}
		present, jank := n[displayPresent], n[displayJank]
		switch of.number {
		case frameEnd:
			f, ok := r.begun[n[frameCookie]]
			delete(r.begun, n[frameCookie])
			if f.At = at; ok && at >= f.Begin && len(r.frames) < activity.MaxFrames {
				r.frames = append(r.frames, f)
			}
			return
		case actualSurface:
			f.surface, f.display = true, n[surfaceDisplay]
			present, jank = n[surfacePresent], n[surfaceJank]
		case actualDisplay:
		default:
			return
		}
		if present == presentDropped {
			f.Verdict = activity.Dropped
		} else if present == presentLate || jank&^harmless != 0 {
			f.Verdict = activity.Late
		}
		if len(r.begun) < activity.MaxFrames {
			r.begun[n[frameCookie]] = f
		}
	})
}

// displayed returns the frames of displays. A late surface makes its display's frame late, and a
// dropped one is a frame of its own.
func (r *reader) displayed() (all []activity.Frame) {
	late := map[uint64]bool{}
	for _, f := range r.frames {
		late[f.display] = late[f.display] || f.surface && f.Verdict == activity.Late
	}
	for _, f := range r.frames {
		if !f.surface && f.Verdict == activity.Good && late[f.display] {
			f.Verdict = activity.Late
		}
		if !f.surface || f.Verdict == activity.Dropped {
			all = append(all, f.Frame)
		}
	}
	slices.SortStableFunc(all, func(a, b activity.Frame) int { return cmp.Compare(a.At, b.At) })
	return all
}
