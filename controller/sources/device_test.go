package sources

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// receiver is a capture card with all that one can have.
func receiver() v4l2.Device {
	return v4l2.Device{
		Path: "/dev/video0", Link: "/dev/v4l/by-id/usb-Card", Driver: "hdmirx", Card: "Card", Bus: "usb-1",
		Inputs: []v4l2.Input{{Index: 0, Name: "HDMI 0", Type: "camera", Timings: true},
			{Index: 1, Name: "HDMI 1", Type: "camera", Status: []string{"no power"}, Timings: true}},
		Signal: v4l2.SignalPresent,
		Timings: &v4l2.Timings{Width: 1920, Height: 1080, PixelClock: 148351648, TotalWidth: 2200, TotalHeight: 1125,
			Period: capture.Rational{Num: 1001, Den: 60000}},
		TimingsCap: &v4l2.TimingsCap{MinWidth: 640, MaxWidth: 3840, MinHeight: 480, MaxHeight: 2160,
			MinPixelClock: 20e6, MaxPixelClock: 600e6, Progressive: true},
		Formats: []v4l2.PixelFormat{
			{Fourcc: "NM12", Pixel: frame.NV12},
			{Fourcc: "YUYV", Pixel: frame.YUYV,
				Sizes: []v4l2.Size{{Width: 640, Height: 480, MinWidth: 640, MinHeight: 480,
					Periods: []capture.Rational{{Num: 1, Den: 60}, {Num: 1001, Den: 30000}}}}},
			{Fourcc: "MJPG", Compressed: true},
		},
		Current: &v4l2.Current{Width: 1920, Height: 1080, Fourcc: "NM12", Stride: 1920, Field: "none",
			Colour: v4l2.Colour{Transfer: "smpte2084", HDR: true}},
		EDID: &v4l2.EDID{Manufacturer: "EID", Name: "Eideticker", Modes: []string{"1920x1080p60"},
			Raw: make([]byte, 256)},
		Controls: []v4l2.Control{
			{Name: "Rx RGB Quantization Range", Kind: "menu", Value: 1, Menu: map[int64]string{1: "Full"}},
			{Name: "Power Present", Kind: "bitmask", Value: 3},
			{Name: "Brightness", Kind: "integer", Value: 128}, {Name: "Hue", Kind: "integer"},
		},
		Holders: []v4l2.Holder{{PID: 7, Command: "obs"}},
		Streams: true,
	}
}

func TestDeviceLines(t *testing.T) {
	text := strings.Join(newDevice(receiver()).Lines(), "\n")
	for _, want := range []string{
		"Card (hdmirx at usb-1), in use by another program", "also /dev/v4l/by-id/usb-Card",
		"input 0: HDMI 0 (selected)", "input 1: HDMI 1 (no power)", "signal: present, 1920x1080p59.94, HDR (smpte2084)",
		"NM12 (stored as NV12) YUYV: the size of the signal", "not recorded: MJPG (compressed)",
		`EDID EID "Eideticker" offers 1920x1080p60`, "open in obs (process 7)",
		"controls: Rx RGB Quantization Range = Full, Power Present = 3, 2 more with --json", "audio: not recorded",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	camera := receiver()
	camera.TimingsCap = nil
	if lines := newDevice(camera).formatLines(); len(lines) != 2 || lines[1] != "YUYV: 640x480 at 60 30000/1001" {
		t.Errorf("formats of a camera: %q", lines)
	}
	if got := some(strings.Split("a b c d e f g h i j", " "), " "); got != "a b c d e f g h and 2 more" {
		t.Error(got)
	}
	broken := newDevice(v4l2.Device{Path: "/dev/video9", Input: -1, Err: errors.New("no way in")}).Lines()
	if last := broken[len(broken)-2]; last != "cannot be asked: no way in" {
		t.Errorf("a device that cannot be asked ends with %q", last)
	}
}

// Each name that json.md gives to a device is printed, and no list is null.
func TestDeviceJSON(t *testing.T) {
	out, err := json.Marshal(newDevice(receiver()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"source", "link", "driver", "card", "bus", "multi_planar", "inputs", "input", "signal", "timings", "takes_min",
		"takes_max", "formats", "current", "edid", "controls", "holders", "in_use", "audio",
		"has_timings", "pixel_clock_hz", "period_num_s", "period_den", "stored_as", "compressed", "frames_per_s",
		"stride_bytes", "field", "colour", "transfer", "manufacturer", "modes", "label", "pid", "command",
	} {
		if !strings.Contains(string(out), `"`+name+`":`) {
			t.Errorf("no %s", name)
		}
	}
	b, err := json.Marshal(newDevice(v4l2.Device{Path: "/dev/video9", Inputs: []v4l2.Input{{}},
		Formats: []v4l2.PixelFormat{{Sizes: []v4l2.Size{{}}}}}))
	if err != nil || strings.Contains(string(b), "null") {
		t.Errorf("%s, %v", b, err)
	}
}
