package main

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// deviceJSON is a capture device in sources --json.
type deviceJSON struct {
	Source      string        `json:"source"`
	Link        string        `json:"link,omitempty"` // a name that stays
	Driver      string        `json:"driver"`
	Card        string        `json:"card"`
	Bus         string        `json:"bus"`
	MultiPlanar bool          `json:"multi_planar"`
	Inputs      []inputJSON   `json:"inputs"`
	Input       int           `json:"input"` // the selected one's index, -1 for none
	Signal      string        `json:"signal"`
	SignalError string        `json:"signal_error,omitempty"` // why it is unknown
	Timings     *timingsJSON  `json:"timings,omitempty"`
	TakesMin    *extremeJSON  `json:"takes_min,omitempty"`
	TakesMax    *extremeJSON  `json:"takes_max,omitempty"`
	Formats     []devFormat   `json:"formats"`
	Current     *currentJSON  `json:"current,omitempty"`
	EDID        *edidJSON     `json:"edid,omitempty"`
	EDIDError   string        `json:"edid_error,omitempty"`
	Controls    []controlJSON `json:"controls"`
	Holders     []holderJSON  `json:"holders"`
	InUse       bool          `json:"in_use"` // another program streams from it
	Audio       string        `json:"audio"`
	Error       string        `json:"error,omitempty"` // why it cannot be asked

	Certificates []certificateJSON `json:"certificates"`
}

type inputJSON struct {
	Index      int      `json:"index"`
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Status     []string `json:"status"`
	HasTimings bool     `json:"has_timings"`
}

type timingsJSON struct {
	Name       string `json:"name"` // "1920x1080p59.94"
	Width      int    `json:"width_px"`
	Height     int    `json:"height_px"`
	Interlaced bool   `json:"interlaced"`
	PixelClock uint64 `json:"pixel_clock_hz"`
	PeriodNum  int64  `json:"period_num_s"`
	PeriodDen  int64  `json:"period_den"`
}

type extremeJSON struct {
	Width      int    `json:"width_px"`
	Height     int    `json:"height_px"`
	PixelClock uint64 `json:"pixel_clock_hz"`
}

type devFormat struct {
	Fourcc     string     `json:"pixel_format"`
	About      string     `json:"about"`
	StoredAs   string     `json:"stored_as,omitempty"` // left out where it cannot be recorded
	Compressed bool       `json:"compressed"`
	Sizes      []sizeJSON `json:"sizes"`
}

type sizeJSON struct {
	Width     int      `json:"width_px"` // of a range the largest
	Height    int      `json:"height_px"`
	MinWidth  int      `json:"min_width_px"`
	MinHeight int      `json:"min_height_px"`
	Rates     []string `json:"frames_per_s"` // "60", "60000/1001"; fastest first
}

type currentJSON struct {
	Width  int         `json:"width_px"`
	Height int         `json:"height_px"`
	Stride int         `json:"stride_bytes"`
	Fourcc string      `json:"pixel_format"`
	Field  string      `json:"field"`
	Colour v4l2.Colour `json:"colour"`
}

type edidJSON struct {
	Manufacturer string   `json:"manufacturer"`
	Name         string   `json:"name"`
	Modes        []string `json:"modes"`
	HDMI         bool     `json:"hdmi"`
	Audio        bool     `json:"audio"`
	HDR          bool     `json:"hdr"`
	Bytes        int      `json:"bytes"`
}

type controlJSON struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Value int64  `json:"value"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	Label string `json:"label,omitempty"` // of a menu's value
}

type holderJSON struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// findDevices asks the capture devices of this machine.
func findDevices() ([]deviceJSON, error) {
	devices, err := v4l2.List()
	all := []deviceJSON{}
	for _, d := range devices {
		all = append(all, deviceOf(d))
	}
	return all, err
}

func deviceOf(d v4l2.Device) deviceJSON {
	j := deviceJSON{
		Source: "v4l2:" + d.Path, Link: d.Link, Driver: d.Driver, Card: d.Card, Bus: d.Bus, MultiPlanar: d.MultiPlanar,
		Inputs: []inputJSON{}, Input: d.Input, Signal: d.Signal.String(), Formats: []devFormat{},
		Controls: []controlJSON{},
		Holders:  []holderJSON{}, InUse: d.Streams, Audio: d.Audio(), Certificates: []certificateJSON{},
	}
	if d.Err != nil {
		j.Error = d.Err.Error()
	}
	if d.SignalErr != nil {
		j.SignalError = d.SignalErr.Error()
	}
	if d.EDIDErr != nil {
		j.EDIDError = d.EDIDErr.Error()
	}
	for _, in := range d.Inputs {
		j.Inputs = append(j.Inputs, inputJSON{in.Index, in.Name, in.Type, append([]string{}, in.Status...), in.Timings})
	}
	if t := d.Timings; t != nil {
		j.Timings = &timingsJSON{t.String(), t.Width, t.Height, t.Interlaced, t.PixelClock, t.Period.Num, t.Period.Den}
	}
	if c := d.TimingsCap; c != nil {
		j.TakesMin = &extremeJSON{c.MinWidth, c.MinHeight, c.MinPixelClock}
		j.TakesMax = &extremeJSON{c.MaxWidth, c.MaxHeight, c.MaxPixelClock}
	}
	for _, f := range d.Formats {
		j.Formats = append(j.Formats, formatOf(f))
	}
	if c := d.Current; c != nil {
		j.Current = &currentJSON{c.Width, c.Height, c.Stride, c.Fourcc, c.Field, c.Colour}
	}
	if e := d.EDID; e != nil {
		j.EDID = &edidJSON{e.Manufacturer, e.Name, append([]string{}, e.Modes...), e.HDMI, e.Audio, e.HDR, len(e.Raw)}
	}
	for _, c := range d.Controls {
		j.Controls = append(j.Controls, controlJSON{c.Name, c.Kind, c.Value, c.Min, c.Max, c.Menu[c.Value]})
	}
	for _, h := range d.Holders {
		j.Holders = append(j.Holders, holderJSON{h.PID, h.Command})
	}
	return j
}

func formatOf(f v4l2.PixelFormat) devFormat {
	out := devFormat{Fourcc: f.Fourcc, About: f.About, Compressed: f.Compressed, Sizes: []sizeJSON{}}
	if f.Pixel != 0 {
		out.StoredAs = f.Pixel.String()
	}
	for _, s := range f.Sizes {
		size := sizeJSON{Width: s.Width, Height: s.Height, MinWidth: s.MinWidth, MinHeight: s.MinHeight,
			Rates: []string{}}
		for _, p := range s.Periods {
			size.Rates = append(size.Rates, rateFraction(p))
		}
		out.Sizes = append(out.Sizes, size)
	}
	return out
}

// rateFraction writes frames a second without loss.
func rateFraction(period capture.Rational) string {
	if period.Num == 1 {
		return fmt.Sprint(period.Den)
	}
	return fmt.Sprintf("%d/%d", period.Den, period.Num)
}

// rows are what a device is, line by line, for people.
func (d deviceJSON) rows() [][]string {
	rows := [][]string{{d.Source, d.headline()}}
	more := func(format string, args ...any) { rows = append(rows, []string{"", fmt.Sprintf(format, args...)}) }
	if d.Link != "" {
		more("also %s", d.Link)
	}
	if d.Error != "" {
		more("cannot be asked: %s", d.Error)
		return rows
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
	for _, line := range d.formatLines() {
		more("%s", line)
	}
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
		more("open in %s", d.holders())
	}
	more("audio: %s", d.Audio)
	return rows
}

// controls names those that say something about the signal, by the kernel's names for them
// (v4l2-ctrls-defs.c), and counts the others.
func (d deviceJSON) controls() string {
	var names []string
	others := len(d.Controls)
	for _, c := range d.Controls {
		if !strings.HasPrefix(c.Name, "Rx ") && c.Name != "Power Present" {
			continue
		}
		others--
		value := c.Label
		if value == "" {
			value = fmt.Sprint(c.Value)
		}
		names = append(names, c.Name+" = "+value)
	}
	if others > 0 {
		names = append(names, fmt.Sprintf("%d more with --json", others))
	}
	return strings.Join(names, ", ")
}

func (d deviceJSON) headline() string {
	s := d.Card
	if d.Driver != "" {
		s += fmt.Sprintf(" (%s at %s)", d.Driver, d.Bus)
	}
	if d.InUse {
		s += ", in use by another program"
	}
	return s
}

func (d deviceJSON) signal() string {
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

// formatLines has a line for all formats that come in the same sizes.
func (d deviceJSON) formatLines() []string {
	var order []string // of sizes, as they come first
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

// sizes says in which sizes and rates a format comes.
func (f devFormat) sizes() string {
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

// some joins names, of many the first.
func some(names []string, separator string) string {
	const most = 8
	if len(names) > most+1 {
		names = append(append([]string{}, names[:most]...), fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, separator)
}

func (d deviceJSON) unrecorded() []string {
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

func (d deviceJSON) holders() string {
	var names []string
	for _, h := range d.Holders {
		names = append(names, fmt.Sprintf("%s (process %d)", h.Command, h.PID))
	}
	return strings.Join(names, ", ")
}
