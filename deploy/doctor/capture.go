package doctor

import (
	"errors"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// captureDevices tells the doctor of all capture devices.
func captureDevices() ([]Device, error) {
	list, err := v4l2.List()
	var all []Device
	for _, d := range list {
		all = append(all, patient(d))
	}
	return all, err
}

// patient is what the doctor wants to know of a device.
func patient(d v4l2.Device) Device {
	p := Device{Path: d.Path, Card: d.Card, Driver: d.Driver, State: d.Signal.String(), Streams: d.Streams,
		Err: errors.Join(d.Err, d.SignalErr)}
	var holders []string
	for _, h := range d.Holders {
		holders = append(holders, h.String())
	}
	p.Holders = strings.Join(holders, ", ")
	if errors.Is(p.Err, v4l2.ErrBusy) || d.Streams {
		p.Streams = true
		if p.Holders == "" {
			p.Holders = "another program"
		}
	}
	switch {
	case d.Signal == v4l2.SignalPresent:
		p.Signal = signalPresent
	case d.Signal.Err() != nil:
		p.Signal = signalMissing
	}
	if d.Timings != nil {
		p.Timings = d.Timings.String()
	}
	p.Mode, p.Refused = modeOf(d)
	return p
}

// modeOf returns the mode that would be recorded now, in the format that capture/v4l2 would take.
// Size and rate are those of the signal, or those that the device is set to. It is nil where that
// is not known, or refused with a reason.
func modeOf(d v4l2.Device) (mode *Mode, refused string) {
	format, ok := chosenFormat(d)
	width, height, period := 0, 0, capture.Rational{}
	switch {
	case d.Timings != nil && d.Timings.Interlaced:
		return nil, "an interlaced signal is not recorded"
	case len(d.Formats) > 0 && !ok:
		return nil, "none of its formats is recorded"
	case !ok:
		return nil, ""
	case d.Timings != nil:
		width, height, period = d.Timings.Width, d.Timings.Height, d.Timings.Period
	case d.Current != nil && d.TimingsCap == nil: // what it is set to is what comes, unless a signal says it
		width, height = d.Current.Width, d.Current.Height
		period = shortestPeriod(format, width, height)
	}
	f, err := frame.NewFormat(format.Pixel, width, height)
	if err != nil || period.Num <= 0 || period.Den <= 0 {
		return nil, ""
	}
	return &Mode{Format: f, Num: period.Num, Den: period.Den}, ""
}

// chosenFormat is the format that a device is set to, or else its first that can be recorded.
func chosenFormat(d v4l2.Device) (v4l2.PixelFormat, bool) {
	first, ok := v4l2.PixelFormat{}, false
	for _, f := range d.Formats {
		if f.Pixel == 0 {
			continue
		}
		if d.Current != nil && f.Fourcc == d.Current.Fourcc {
			return f, true
		}
		if !ok {
			first, ok = f, true
		}
	}
	return first, ok
}

// shortestPeriod returns the minimum time from frame to frame that a device states for a size. It
// returns 1/60 s if the device states none.
func shortestPeriod(f v4l2.PixelFormat, width, height int) capture.Rational {
	for _, s := range f.Sizes {
		if width >= s.MinWidth && width <= s.Width && height >= s.MinHeight && height <= s.Height &&
			len(s.Periods) > 0 {
			return s.Periods[0]
		}
	}
	return capture.Rational{Num: 1, Den: 60}
}
