package analyze

import "errors"

// # windowopen: how a window opens
//
// Load histogram and load figures (loadhist, speedindex) whose T0 is the launch or input event.
// Without such an event it is refused: the time from the command to the first change is what it is
// about. Detail is scriptDetail, as of speedindex.
func windowOpenMeasure() measure {
	values := append(loadValues(""), histogramValues()...)
	return measure{name: "windowopen", version: 1, pixels: true, begin: beginWindowOpen,
		values: append(values, scriptValues()...)}
}

func beginWindowOpen(c *Case) (part, error) {
	if c.Window.T0 == nil {
		return nil, errors.New("no launch or input event is recorded before the first change; drive the device with the rig, or name the event with --t0 KIND")
	}
	return beginLoad(c)
}
