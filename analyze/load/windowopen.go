package load

import (
	"errors"

	"github.com/eideticker/eideticker/analyze/measure"
)

// # windowopen: how a window opens
//
// Load histogram and load figures (loadhist, speedindex) whose T0 is the launch or input event.
// Without such an event it is refused: the time from the command to the first change is what it is
// about. Its detail is [ScriptDetail].
func WindowOpen(o Options) measure.Measure {
	values := append(figureValues(""), histogramValues()...)
	begin := func(c *measure.Case) (measure.Part, error) {
		if c.Window.T0 == nil {
			return nil, errors.New("no launch or input event is recorded before the first change; " +
				"drive the device with the rig, or name the event with --t0 KIND")
		}
		return begin(o)(c)
	}
	return measure.Measure{Name: "windowopen", Version: 1, Pixels: true, Begin: begin,
		Values: append(values, scriptValues()...)}
}
