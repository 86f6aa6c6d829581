package sources

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// Device is a capture device.
type Device struct {
	Source      string        `json:"source"`
	Link        string        `json:"link,omitempty"` // a name that stays
	Driver      string        `json:"driver"`
	Card        string        `json:"card"`
	Bus         string        `json:"bus"`
	MultiPlanar bool          `json:"multi_planar"`
	Inputs      []v4l2.Input  `json:"inputs"`
	Input       int           `json:"input"`                  // the selected one's index, -1 for none
	Signal      string        `json:"signal"`                 // present, no cable, no signal, no lock, …
	SignalError string        `json:"signal_error,omitempty"` // why it is unknown
	Timings     *Timings      `json:"timings,omitempty"`
	TakesMin    *Extreme      `json:"takes_min,omitempty"`
	TakesMax    *Extreme      `json:"takes_max,omitempty"`
	Formats     []Format      `json:"formats"`
	Current     *v4l2.Current `json:"current,omitempty"`
	EDID        *EDID         `json:"edid,omitempty"`
	EDIDError   string        `json:"edid_error,omitempty"`
	Controls    []Control     `json:"controls"`
	Holders     []v4l2.Holder `json:"holders"`         // other programs that have it open
	InUse       bool          `json:"in_use"`          // another program streams from it
	Audio       string        `json:"audio"`           // always "not recorded"
	Error       string        `json:"error,omitempty"` // why it cannot be asked

	Certificates []Certificate `json:"certificates"`
}

// Timings are the timings that a receiver detects.
type Timings struct {
	Name       string `json:"name"` // "1920x1080p59.94"
	Width      int    `json:"width_px"`
	Height     int    `json:"height_px"`
	Interlaced bool   `json:"interlaced"`
	PixelClock uint64 `json:"pixel_clock_hz"`
	PeriodNum  int64  `json:"period_num_s"`
	PeriodDen  int64  `json:"period_den"`
}

// Extreme is the smallest or largest signal that a receiver takes.
type Extreme struct {
	Width      int    `json:"width_px"`
	Height     int    `json:"height_px"`
	PixelClock uint64 `json:"pixel_clock_hz"`
}

// Format is a pixel format with its sizes.
type Format struct {
	Fourcc     string `json:"pixel_format"`
	About      string `json:"about"`
	StoredAs   string `json:"stored_as,omitempty"` // empty if it cannot be recorded
	Compressed bool   `json:"compressed"`
	Sizes      []Size `json:"sizes"`
}

// Size is a size or a range of sizes.
type Size struct {
	Width     int      `json:"width_px"` // of a range the largest
	Height    int      `json:"height_px"`
	MinWidth  int      `json:"min_width_px"`
	MinHeight int      `json:"min_height_px"`
	Rates     []string `json:"frames_per_s"` // "60", "60000/1001"; fastest first
}

// EDID is the EDID that a device shows to the device under test.
type EDID struct {
	Manufacturer string   `json:"manufacturer"`
	Name         string   `json:"name"`
	Modes        []string `json:"modes"`
	HDMI         bool     `json:"hdmi"`
	Audio        bool     `json:"audio"`
	HDR          bool     `json:"hdr"`
	Bytes        int      `json:"bytes"`
}

// Control is a control of a device.
type Control struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Value int64  `json:"value"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	Label string `json:"label,omitempty"` // of a menu's value
}

func newDevice(d v4l2.Device) Device {
	all := Device{
		Source: "v4l2:" + d.Path, Link: d.Link, Driver: d.Driver, Card: d.Card, Bus: d.Bus, MultiPlanar: d.MultiPlanar,
		Inputs: []v4l2.Input{}, Input: d.Input, Signal: d.Signal.String(), Formats: []Format{}, Current: d.Current,
		Controls: []Control{}, Holders: append([]v4l2.Holder{}, d.Holders...), InUse: d.Streams, Audio: d.Audio(),
		Error: textOf(d.Err), SignalError: textOf(d.SignalErr), EDIDError: textOf(d.EDIDErr),
		Certificates: []Certificate{},
	}
	for _, in := range d.Inputs {
		in.Status = append([]string{}, in.Status...)
		all.Inputs = append(all.Inputs, in)
	}
	if t := d.Timings; t != nil {
		all.Timings = &Timings{t.String(), t.Width, t.Height, t.Interlaced, t.PixelClock, t.Period.Num, t.Period.Den}
	}
	if c := d.TimingsCap; c != nil {
		all.TakesMin = &Extreme{c.MinWidth, c.MinHeight, c.MinPixelClock}
		all.TakesMax = &Extreme{c.MaxWidth, c.MaxHeight, c.MaxPixelClock}
	}
	for _, f := range d.Formats {
		all.Formats = append(all.Formats, newFormat(f))
	}
	if e := d.EDID; e != nil {
		all.EDID = &EDID{e.Manufacturer, e.Name, append([]string{}, e.Modes...), e.HDMI, e.Audio, e.HDR, len(e.Raw)}
	}
	for _, c := range d.Controls {
		all.Controls = append(all.Controls, Control{c.Name, c.Kind, c.Value, c.Min, c.Max, c.Menu[c.Value]})
	}
	return all
}

func newFormat(f v4l2.PixelFormat) Format {
	out := Format{Fourcc: f.Fourcc, About: f.About, Compressed: f.Compressed, Sizes: []Size{}}
	if f.Pixel != 0 {
		out.StoredAs = f.Pixel.String()
	}
	for _, s := range f.Sizes {
		size := Size{s.Width, s.Height, s.MinWidth, s.MinHeight, []string{}}
		for _, p := range s.Periods {
			size.Rates = append(size.Rates, rateFraction(p))
		}
		out.Sizes = append(out.Sizes, size)
	}
	return out
}

// rateFraction returns the frames per second as an exact fraction.
func rateFraction(period capture.Rational) string {
	if period.Num == 1 {
		return fmt.Sprint(period.Den)
	}
	return fmt.Sprintf("%d/%d", period.Den, period.Num)
}

// Lines describes the device for people.
func (d Device) Lines() []string {
	lines := []string{d.headline()}
	more := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if d.Link != "" {
		more("also %s", d.Link)
	}
	if d.Error != "" {
		more("cannot be asked: %s", d.Error)
		return append(lines, certificateLines(d.Certificates)...)
	}
	for _, in := range d.Inputs {
		state := strings.Join(in.Status, ", ")
		if in.Index == d.Input {
			state = strings.TrimPrefix(state+", selected", ", ")
		}
		if state != "" {
			state = " (" + state + ")"
		}
		more("input %d: %s%s", in.Index, in.Name, state)
	}
	more("signal: %s", d.signal())
	lines = append(lines, d.formatLines()...)
	if names := d.unrecorded(); len(names) > 0 {
		more("not recorded: %s", some(names, " "))
	}
	switch {
	case d.EDID != nil:
		more("EDID %s %q offers %s", d.EDID.Manufacturer, d.EDID.Name, some(d.EDID.Modes, " "))
	case d.EDIDError != "":
		more("EDID: %s", d.EDIDError)
	}
	if text := d.controls(); text != "" {
		more("controls: %s", text)
	}
	if len(d.Holders) > 0 {
		more("open in %s", v4l2.HolderList(d.Holders))
	}
	more("audio: %s", d.Audio)
	return append(lines, certificateLines(d.Certificates)...)
}

// controls lists the controls that describe the signal, and counts the others. The names are the
// kernel's (v4l2-ctrls-defs.c).
func (d Device) controls() string {
	var names []string
	others := len(d.Controls)
	for _, c := range d.Controls {
		if !strings.HasPrefix(c.Name, "Rx ") && c.Name != "Power Present" {
			continue
		}
		others--
		names = append(names, c.Name+" = "+cmp.Or(c.Label, fmt.Sprint(c.Value)))
	}
	if others > 0 {
		names = append(names, fmt.Sprintf("%d more with --json", others))
	}
	return strings.Join(names, ", ")
}

func (d Device) headline() string {
	s := d.Card
	if d.Driver != "" {
		s += fmt.Sprintf(" (%s at %s)", d.Driver, d.Bus)
	}
	if d.InUse {
		s += ", in use by another program"
	}
	return s
}

func (d Device) signal() string {
	s := d.Signal
	if d.SignalError != "" {
		s += " (" + d.SignalError + ")"
	}
	if d.Timings != nil {
		s += ", " + d.Timings.Name
	}
	if d.Current != nil && d.Current.Colour.HDR {
		s += ", HDR (" + d.Current.Colour.Transfer + ")"
	}
	return s
}

// formatLines returns a line for each group of formats with the same sizes.
func (d Device) formatLines() []string {
	var order []string // sizes in their first order
	names := map[string][]string{}
	for _, f := range d.Formats {
		if f.StoredAs == "" {
			continue
		}
		sizes := f.sizes()
		if d.TakesMax != nil {
			sizes = "the size of the signal"
		}
		if names[sizes] == nil {
			order = append(order, sizes)
		}
		name := f.Fourcc
		if f.StoredAs != f.Fourcc {
			name += " (stored as " + f.StoredAs + ")"
		}
		names[sizes] = append(names[sizes], name)
	}
	var lines []string
	for _, sizes := range order {
		lines = append(lines, strings.Join(names[sizes], " ")+": "+sizes)
	}
	return lines
}

// sizes lists the sizes and rates of a format.
func (f Format) sizes() string {
	var all []string
	for _, s := range f.Sizes {
		size := fmt.Sprintf("%dx%d", s.Width, s.Height)
		if s.MinWidth != s.Width || s.MinHeight != s.Height {
			size = fmt.Sprintf("%dx%d…%s", s.MinWidth, s.MinHeight, size)
		}
		if len(s.Rates) > 0 {
			size += " at " + strings.Join(s.Rates, " ")
		}
		all = append(all, size)
	}
	if len(all) == 0 {
		return "one size"
	}
	return some(all, ", ")
}

func (d Device) unrecorded() []string {
	var names []string
	for _, f := range d.Formats {
		if f.StoredAs == "" {
			name := f.Fourcc
			if f.Compressed {
				name += " (compressed)"
			}
			names = append(names, name)
		}
	}
	return names
}
