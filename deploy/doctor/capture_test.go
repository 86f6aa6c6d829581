package doctor

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/v4l2"
)

func TestPatient(t *testing.T) {
	yuyv := v4l2.PixelFormat{Fourcc: "YUYV", Pixel: frame.YUYV, Sizes: []v4l2.Size{
		{MinWidth: 640, Width: 640, MinHeight: 480, Height: 480, Periods: []capture.Rational{{Num: 1, Den: 30}}},
		{MinWidth: 1280, Width: 1920, MinHeight: 720, Height: 1080,
			Periods: []capture.Rational{{Num: 1, Den: 50}, {Num: 1, Den: 25}}},
	}}
	nv12 := v4l2.PixelFormat{Fourcc: "NV12", Pixel: frame.NV12}
	mjpg := v4l2.PixelFormat{Fourcc: "MJPG", Compressed: true}
	timings := &v4l2.Timings{Width: 1920, Height: 1080, Period: capture.Rational{Num: 1001, Den: 60000}}
	interlaced := &v4l2.Timings{Width: 1920, Height: 1080, Interlaced: true, Period: capture.Rational{Num: 1, Den: 30}}
	hdmi := new(v4l2.TimingsCap)
	for _, tc := range []struct {
		name string
		d    v4l2.Device
		want string // signal, mode, why not, who streams
	}{
		{"HDMI", v4l2.Device{Signal: v4l2.SignalPresent, Timings: timings, TimingsCap: hdmi,
			Formats: []v4l2.PixelFormat{yuyv, nv12}, Current: &v4l2.Current{Width: 640, Height: 480, Fourcc: "NV12"}},
			`1 "1920x1080 NV12 at 59.94006 frames/s" "" "" false`},
		{"HDMI set to what is not recorded", v4l2.Device{Signal: v4l2.SignalPresent, Timings: timings, TimingsCap: hdmi,
			Formats: []v4l2.PixelFormat{mjpg, yuyv}, Current: &v4l2.Current{Fourcc: "MJPG"}},
			`1 "1920x1080 YUYV at 59.94006 frames/s" "" "" false`},
		{"HDMI without a signal", v4l2.Device{Signal: v4l2.SignalNone, TimingsCap: hdmi,
			Formats: []v4l2.PixelFormat{nv12}, Current: &v4l2.Current{Width: 640, Height: 480, Fourcc: "NV12"}},
			`2 "" "" "" false`},
		{"USB", v4l2.Device{Formats: []v4l2.PixelFormat{yuyv},
			Current: &v4l2.Current{Width: 1920, Height: 1080, Fourcc: "YUYV"}},
			`0 "1920x1080 YUYV at 50 frames/s" "" "" false`},
		{"USB that does not tell rates",
			v4l2.Device{Formats: []v4l2.PixelFormat{nv12},
				Current: &v4l2.Current{Width: 1280, Height: 720, Fourcc: "NV12"}},
			`0 "1280x720 NV12 at 60 frames/s" "" "" false`},
		{"compressed only", v4l2.Device{Formats: []v4l2.PixelFormat{mjpg},
			Current: &v4l2.Current{Width: 1280, Height: 720, Fourcc: "MJPG"}},
			`0 "" "none of its formats is recorded" "" false`},
		{"interlaced", v4l2.Device{Signal: v4l2.SignalPresent, Timings: interlaced, TimingsCap: hdmi,
			Formats: []v4l2.PixelFormat{nv12}},
			`1 "" "an interlaced signal is not recorded" "" false`},
		{"nothing known", v4l2.Device{Err: errors.New("broken")}, `0 "" "" "" false`},
		{"zero size", v4l2.Device{Formats: []v4l2.PixelFormat{nv12}, Current: &v4l2.Current{Fourcc: "NV12"}},
			`0 "" "" "" false`},
		{"busy", v4l2.Device{Err: fmt.Errorf("open: %w", v4l2.ErrBusy)}, `0 "" "" "another program" true`},
		{"busy when asked for its signal", v4l2.Device{SignalErr: fmt.Errorf("ask: %w", v4l2.ErrBusy),
			Formats: []v4l2.PixelFormat{nv12}}, `0 "" "" "another program" true`},
		{"streams", v4l2.Device{Streams: true, Holders: []v4l2.Holder{{PID: 7, Command: "obs"}}},
			`0 "" "" "obs (process 7)" true`},
	} {
		p := patient(tc.d)
		mode := ""
		if p.Mode != nil {
			mode = p.Mode.String()
		}
		if got := fmt.Sprintf("%d %q %q %q %v", p.Signal, mode, p.Refused, p.Holders, p.Streams); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
