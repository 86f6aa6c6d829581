package touch

import (
	"fmt"
	"time"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// Bounds of a recording.
const (
	maxFile     = 64 << 20 // bytes
	maxDuration = time.Hour
)

// Recording is what fingers did on a glass.
type Recording struct {
	// MaxX and MaxY are the greatest places of the glass; 0 where the file does not say: then
	// places are pixels.
	MaxX, MaxY int
	Reports    []Report
}

// Report is what several fingers did at once. Places are those of the glass.
type Report struct {
	After   time.Duration // the first report
	Actions []input.Action
}

// Area is where on a screen a recording is played, in pixels.
type Area struct{ X, Y, Width, Height float64 }

// Timed returns the recording's actions in an area of a screen.
func (r *Recording) Timed(a Area) []input.Timed {
	scale := func(v float64, most int, from, length float64) float64 {
		if most > 0 {
			v = v * length / float64(most+1)
		}
		return from + min(v, length-1)
	}
	place := func(x, y float64) (float64, float64) {
		return scale(x, r.MaxX, a.X, a.Width), scale(y, r.MaxY, a.Y, a.Height)
	}
	all := make([]input.Timed, len(r.Reports))
	for i, report := range r.Reports {
		all[i].After = report.After
		for _, action := range report.Actions {
			switch f := action.(type) {
			case input.TouchDown:
				f.X, f.Y = place(f.X, f.Y)
				action = f
			case input.TouchMove:
				f.X, f.Y = place(f.X, f.Y)
				action = f
			}
			all[i].Actions = append(all[i].Actions, action)
		}
	}
	return all
}

// hand follows the fingers of a glass, event by event.
type hand struct {
	slot    int
	slots   [input.MaxFingers]finger
	began   time.Duration // time of the first report that says anything
	any     bool
	last    time.Duration
	reports []Report
}

type finger struct {
	x, y    int32
	down    bool // as was reported
	wanted  bool // as the events since say
	again   bool // it was lifted and came down within one report
	changed bool
}

// event takes one event; its time counts from anywhere.
func (h *hand) event(at time.Duration, e evdev.Event) error {
	if at < h.last {
		return fmt.Errorf("time goes back, from %v to %v", h.last, at)
	}
	h.last = at
	switch e.Type {
	case evdev.Syn:
		switch e.Code {
		case evdev.Report:
			return h.report(at)
		case evdev.Dropped:
			return fmt.Errorf("events were lost while this was recorded: record it once more")
		case mtReport:
			return fmt.Errorf("this glass speaks the older protocol, without slots, which is not read")
		}
	case evdev.Abs:
		return h.axis(e)
	}
	return nil
}

// mtReport is SYN_MT_REPORT, which ends a finger's events in protocol A.
const mtReport = 2

func (h *hand) axis(e evdev.Event) error {
	if e.Code == evdev.AbsMTSlot {
		if e.Value < 0 || e.Value >= input.MaxFingers {
			return fmt.Errorf("finger %d: must be 0 to %d", e.Value, input.MaxFingers-1)
		}
		h.slot = int(e.Value)
		return nil
	}
	f := &h.slots[h.slot]
	switch e.Code {
	case evdev.AbsMTTrackingID:
		if e.Value >= 0 && f.down && !f.wanted {
			f.again = true
		}
		f.wanted = e.Value >= 0
	case evdev.AbsMTPositionX, evdev.AbsMTPositionY:
		if e.Value < 0 || e.Value > input.MaxPlace {
			return fmt.Errorf("place %d is on no glass", e.Value)
		}
		if e.Code == evdev.AbsMTPositionX {
			f.x = e.Value
		} else {
			f.y = e.Value
		}
		f.changed = true
	}
	return nil
}

// report ends what happened at once.
func (h *hand) report(at time.Duration) error {
	var actions []input.Action
	for i := range h.slots {
		f := &h.slots[i]
		x, y := float64(f.x), float64(f.y)
		if f.down && (!f.wanted || f.again) {
			actions = append(actions, input.TouchUp{Finger: i})
			f.down = false
		}
		switch {
		case f.wanted && !f.down:
			actions = append(actions, input.TouchDown{Finger: i, X: x, Y: y})
			f.down = true
		case f.down && f.changed:
			actions = append(actions, input.TouchMove{Finger: i, X: x, Y: y})
		}
		f.again, f.changed = false, false
	}
	return h.add(at, actions)
}

func (h *hand) add(at time.Duration, actions []input.Action) error {
	if len(actions) == 0 {
		return nil
	}
	if !h.any {
		h.any, h.began = true, at
	}
	if at-h.began > maxDuration {
		return fmt.Errorf("the recording is longer than %v", maxDuration)
	}
	h.reports = append(h.reports, Report{at - h.began, actions})
	return nil
}

// lift ends a recording in which fingers are still down.
func (h *hand) lift() error {
	for i := range h.slots {
		h.slots[i].wanted = false
	}
	return h.report(h.last)
}
