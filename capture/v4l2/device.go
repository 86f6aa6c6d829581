package v4l2

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Device is what a capture device says of itself.
type Device struct {
	Path   string // "/dev/video0"
	Link   string // a name that stays: "/dev/v4l/by-id/…", else "/dev/v4l/by-path/…", else ""
	Driver string // "vivid", "uvcvideo", …
	Card   string // its name
	Bus    string // where it is plugged in: "usb-0000:00:14.0-1", …

	Capabilities []string // "video capture", "streaming", …
	MultiPlanar  bool     // it speaks the multi-planar API only

	Inputs []Input
	Input  int // number of the input that is selected, -1 where there are none

	Signal    Signal   // of that input
	Timings   *Timings // that the receiver detects, or nil
	SignalErr error    // why Signal is unknown, where the receiver should know
	// TimingsCap is what the receiver can take, nil for devices without DV timings.
	TimingsCap *TimingsCap

	Formats []PixelFormat
	// Current is the format that the device is set to; its Pixel may be one that cannot be
	// recorded.
	Current *Current

	EDID    *EDID // what the input tells the device under test that it can take; nil where there is none
	EDIDErr error // why it is not known, where the device should have one

	Controls []Control
	Holders  []Holder // other programs that have it open, as far as may be seen
	Streams  bool     // another program is streaming from it: it cannot be recorded now

	// Err says why the device could not be asked, or not all of it. Fields that were not reached
	// are empty.
	Err error
}

// Audio says what becomes of a device's sound.
func (Device) Audio() string { return "not recorded" }

// Input is one connector.
type Input struct {
	Index   int      `json:"index"`
	Name    string   `json:"name"`        // "HDMI 0"
	Type    string   `json:"type"`        // "camera", also for receivers; "tuner", "touch"
	Status  []string `json:"status"`      // the device's problems, decoded, such as "no power"
	Timings bool     `json:"has_timings"` // the input has DV timings: HDMI, DVI or SDI, also VGA
}

// Signal is the state of the input's signal.
type Signal uint8

const (
	SignalUnknown    Signal = iota // the device does not tell
	SignalPresent                  // locked
	SignalNoCable                  // errNoCable
	SignalNone                     // errNoSignal
	SignalNoLock                   // errNoLock
	SignalOutOfRange               // errOutOfRange
	SignalProtected                // errProtected
)

// String returns a word for machines and people: "present", "no cable", "no signal". The others are
// "no lock", "out of range", "protected" and "unknown".
func (s Signal) String() string {
	switch s {
	case SignalPresent:
		return "present"
	case SignalNoCable:
		return "no cable"
	case SignalNone:
		return "no signal"
	case SignalNoLock:
		return "no lock"
	case SignalOutOfRange:
		return "out of range"
	case SignalProtected:
		return "protected"
	}
	return "unknown"
}

// Err returns the error that a signal's state is, or nil.
func (s Signal) Err() error {
	switch s {
	case SignalNoCable:
		return errNoCable
	case SignalNone:
		return errNoSignal
	case SignalNoLock:
		return errNoLock
	case SignalOutOfRange:
		return errOutOfRange
	case SignalProtected:
		return errProtected
	}
	return nil
}

// PixelFormat is a pixel format that a device has.
type PixelFormat struct {
	Fourcc     string            // "BGR4", as V4L2 has it
	About      string            // the driver's words
	Pixel      frame.PixelFormat // what it is stored as; 0 if it cannot be recorded
	Compressed bool
	Emulated   bool // made by a library, not by the device
	Sizes      []Size
}

// Size is one size, or a range of them, with frame rates.
type Size struct {
	Width, Height         int // pixels; of a range the largest
	MinWidth, MinHeight   int // of a range; else equal
	StepWidth, StepHeight int // of a range; else 0
	// Periods are the times from frame to frame that the device has for that size, shortest first;
	// empty for devices whose signal says it. A range gives its shortest and its longest.
	Periods []capture.Rational
}

// String is "1920x1080", or a range as "16x16…1920x1080".
func (s Size) String() string {
	if s.MinWidth != s.Width || s.MinHeight != s.Height {
		return fmt.Sprintf("%dx%d…%dx%d", s.MinWidth, s.MinHeight, s.Width, s.Height)
	}
	return fmt.Sprintf("%dx%d", s.Width, s.Height)
}

// Current is the format that a device is set to.
type Current struct {
	Width  int    `json:"width_px"`
	Height int    `json:"height_px"`
	Stride int    `json:"stride_bytes"`
	Fourcc string `json:"pixel_format"`
	Field  string `json:"field"` // "none" is progressive
	Colour Colour `json:"colour"`
}

// Control is a setting of a device, or something that it reports.
type Control struct {
	ID       uint32
	Name     string
	Kind     string // "integer", "boolean", "menu"; "bitmask", "button"
	Min, Max int64
	Step     int64
	Value    int64
	// Menu has the names of a menu's values, by value.
	Menu map[int64]string
}

// String is "Brightness = 128", with the name of a menu's value where there is one.
func (c Control) String() string {
	if name, ok := c.Menu[c.Value]; ok {
		return fmt.Sprintf("%s = %d (%s)", c.Name, c.Value, name)
	}
	return fmt.Sprintf("%s = %d", c.Name, c.Value)
}

// Holder is a program that has a device open.
type Holder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func (h Holder) String() string { return fmt.Sprintf("%s (process %d)", h.Command, h.PID) }

// HolderList lists programs.
func HolderList(all []Holder) string {
	var names []string
	for _, h := range all {
		names = append(names, h.String())
	}
	return strings.Join(names, ", ")
}
