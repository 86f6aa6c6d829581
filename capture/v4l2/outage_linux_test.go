//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// after does something once, when the source has looked so many times for a signal.
func (f *fakeDriver) after(looks int, do func()) {
	n := 0
	f.idle = func() {
		if n++; n == looks {
			do()
		}
	}
}

// vanish makes the device go away: the next frame and the next look at it fail, and later ones do
// not.
func (f *fakeDriver) vanish() {
	f.fail[vidiocDqbuf] = []error{unix.ENODEV}
	f.fail[vidiocQueryCap] = []error{unix.ENODEV}
}

// manyLooks are more than a real error is given.
const manyLooks = 10 * maxFailures

// What ends and may come back is waited for as long as it takes, told once, and explained.
//
// Fault: The new signal is interlaced, protected or excluded by the URI
func TestWaitedOut(t *testing.T) {
	for _, tc := range []struct {
		name   string
		params string
		away   func(f *fakeDriver)
		back   func(f *fakeDriver)
		missed frame.Cause
		kinds  []string
		reason string
	}{
		{"interlaced", "", func(f *fakeDriver) { f.timings.bt.interlaced = 1 },
			func(f *fakeDriver) { f.timings.bt.interlaced = 0 },
			frame.SignalRefused, []string{"signal refused", "signal back"}, "interlaced"},
		{"protected", "", func(f *fakeDriver) { f.status = inputNoAccess }, func(f *fakeDriver) { f.status = 0 },
			frame.SignalRefused, []string{"signal refused", "signal back"}, "HDCP"},
		{"a matrix without a name", "format=YUYV", func(f *fakeDriver) { f.pix.colorspace = spaceSMPTE240M },
			func(f *fakeDriver) { f.pix.colorspace = spaceSRGB },
			frame.SignalRefused, []string{"signal refused", "signal back"}, "smpte240m"},
		{"another size than the one asked for", "size=16x8", func(f *fakeDriver) { f.play(32, 16, 60) },
			func(f *fakeDriver) { f.play(16, 8, 60) },
			frame.SignalRefused, []string{"signal refused", "signal back"},
			"does not go with these settings: the signal at /dev/fake is 32x16p60"},
		{"a size that the card has not in the format", "", func(f *fakeDriver) { f.play(32, 16, 60); f.fixed = true },
			func(f *fakeDriver) { f.play(16, 8, 60) },
			frame.SignalRefused, []string{"signal refused", "signal back"}, "asked for 32x16 and gives 16x8"},
		{"a format that the driver refuses", "", func(f *fakeDriver) {
			f.play(32, 16, 60)
			f.fail[vidiocSFmt] = slices.Repeat([]error{unix.EINVAL}, manyLooks)
		}, func(f *fakeDriver) { f.play(16, 8, 60); f.fail[vidiocSFmt] = nil },
			frame.SignalRefused, []string{"signal refused", "signal back"}, "does not go with these settings"},
		{"back on a slower port", "format=BGR4", func(f *fakeDriver) {
			f.vanish()
			f.formats = f.formats[1:]
		}, func(f *fakeDriver) { f.formats = newFake(f.t).formats },
			frame.DeviceGone, []string{"device gone", "device back", "signal refused", "signal back"},
			"has no format BGR4: it has YUYV"},
		{"back on a port that is too slow for the rate", "fps=60", func(f *fakeDriver) {
			f.vanish()
			f.period = fract{1, 30}
		}, func(f *fakeDriver) { f.period = fract{1, 60} },
			frame.DeviceGone, []string{"device gone", "device back", "signal refused", "signal back"},
			"asked for 60 frames a second and gives 30"},
		{"no signal", "", func(f *fakeDriver) { f.signal = unix.ENOLINK }, func(f *fakeDriver) { f.signal = nil },
			frame.SignalLost, []string{"signal lost", "signal back"}, "no signal"},
		{"no lock, then interlaced", "", func(f *fakeDriver) {
			f.signal = unix.ENOLCK
			f.timings.bt.interlaced = 1
			f.after(3, func() { f.signal = nil; f.after(manyLooks, func() { f.timings.bt.interlaced = 0 }) })
		}, nil, frame.SignalRefused, []string{"signal lost", "signal refused", "signal back"}, "interlaced"},
		{"timings that the receiver does not take", "", func(f *fakeDriver) {
			f.play(32, 16, 60)
			f.fail[vidiocSDVTimings] = slices.Repeat([]error{unix.EINVAL}, manyLooks)
		}, func(f *fakeDriver) { f.play(16, 8, 60); f.fail[vidiocSDVTimings] = nil },
			frame.SignalLost, []string{"signal lost", "signal back"}, "out of the receiver's range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			if strings.HasPrefix(tc.params, "fps=") { // of DV timings the signal says the rate
				f.signal, f.period = unix.ENOTTY, fract{1, 60}
			}
			f.frames(2)
			f.then(func() ready {
				if tc.back != nil {
					f.after(manyLooks, func() { tc.back(f); f.change() })
				}
				tc.away(f)
				f.change()
				return ready{event: true, frame: true}
			})
			f.frames(2)
			p, err := f.run(tc.params, 16, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.metas) != 4 || p.metas[1].Sequence != 1 || p.metas[2].Sequence < 60 ||
				p.metas[3].Sequence != p.metas[2].Sequence+1 {
				t.Fatalf("frames %+v", p.metas)
			}
			if p.metas[2].Missed != tc.missed {
				t.Errorf("missed: %v, want %v", p.metas[2].Missed, tc.missed)
			}
			checkKinds(t, p, tc.kinds...)
			if !slices.ContainsFunc(p.events,
				func(e timeline.Event) bool { return strings.Contains(string(e.Data), tc.reason) }) {
				t.Errorf("nobody says %q", tc.reason)
			}
		})
	}
}

// A device that goes silent and does not say why is like a signal that is lost: begun again for as
// long as it takes.
//
// Fault: A card stops delivering without a state, as USB cards do
func TestSilence(t *testing.T) {
	f := newFake(t)
	f.signal = unix.ENOTTY // no DV timings, and the status is always 0
	f.period = fract{1, 60}
	silence := func() ready { f.pass(60); return ready{} }
	f.frames(2)
	f.then(slices.Repeat([]func() ready{silence}, manyLooks)...)
	f.frames(2)
	f.then(silence)
	f.frames(2)
	p, err := f.run("", 16, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.metas) != 6 || p.metas[2].Missed != frame.SignalLost || p.metas[2].Sequence < 60*manyLooks ||
		p.metas[4].Missed != frame.SignalLost {
		t.Fatalf("frames %+v", p.metas)
	}
	checkKinds(t, p, "signal lost", "signal back", "signal lost", "signal back")
	if !strings.Contains(string(p.events[0].Data), "no more frames") {
		t.Errorf("told %s", p.events[0].Data)
	}
}

// A driver that makes up a new reason each time is not listened to for ever.
func TestTroublesAreBounded(t *testing.T) {
	n := 0
	told := told{events: func(timeline.Event) { n++ }, clock: &fakeClock{}}
	for i := range 10 * maxTroubles {
		told.unusable(errors.New(strings.Repeat("x", i+1)), i%2 == 0)
	}
	if n != maxTroubles {
		t.Errorf("%d events", n)
	}
	if pause(1) != firstPause || pause(2) != 2*firstPause || pause(1<<40) != lastPause {
		t.Error(pause(1), pause(2), pause(1<<40))
	}
}

// A format that another program sets before buffers are made is not stored as the negotiated one.
//
// Fault: Another program changes the device's format before the stream begins
func TestFormatOfAnother(t *testing.T) {
	small := fakeWidth * fakeHeight
	for _, tc := range []struct {
		name   string
		params string
		late   bool // just before buffers are made
		bytes  int  // of frames
	}{
		{"set back", "format=BGR4", false, small * 4},
		{"set back, late", "format=BGR4", true, small * 4},
		{"followed", "", false, small * 2},
		{"followed, late", "", true, small * 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.frames(3)
			s, err := f.source(tc.params)
			if err != nil {
				t.Fatal(err)
			}
			other := func() { f.set(frame.YUYV, fakeWidth, fakeHeight) }
			if !tc.late {
				other()
			} else {
				f.reqbufs = func() { f.reqbufs = nil; other() }
			}
			p, err := f.record(s, 16, false)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.pixels) != 3 {
				t.Fatalf("%d frames", len(p.pixels))
			}
			for i, b := range p.pixels {
				if len(b) != tc.bytes {
					t.Errorf("frame %d has %d bytes, want %d", i, len(b), tc.bytes)
				}
			}
			if !slices.Contains(p.kinds, "stream restarted") ||
				!strings.Contains(string(p.events[0].Data), "another program") {
				t.Errorf("told %q", p.kinds)
			}
		})
	}
}

// A program that sets its format again and again gets the recording to end, with the reason.
func TestFormatOfAnotherForEver(t *testing.T) {
	f := newFake(t)
	f.frames(1)
	s, err := f.source("format=BGR4")
	if err != nil {
		t.Fatal(err)
	}
	f.reqbufs = func() { f.set(frame.YUYV, fakeWidth, fakeHeight) }
	if _, err := f.record(s, 16, false); !errors.Is(err, errReset) {
		t.Errorf("it ended with %v", err)
	}
}

// A signal that becomes HDR, and nothing else, goes on in a segment of its own that says so.
//
// Fault: The signal changes its colours or becomes HDR in the same mode
func TestColourChange(t *testing.T) {
	for _, announced := range []bool{true, false} {
		f := newFake(t)
		f.frames(2)
		f.then(func() ready {
			f.pix.colorspace, f.pix.xferFunc = spaceBT2020, transferSMPTE2084
			f.frame(0, 0, 1)
			if announced {
				f.change()
			}
			return ready{event: announced, frame: true}
		})
		f.frames(70)
		p, err := f.run("", 100, true)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"signal described"}; !slices.Equal(p.kinds, want) {
			t.Fatalf("told %q, want %q", p.kinds, want)
		}
		if about := string(p.events[0].Data); !strings.Contains(about, `"hdr":true`) ||
			!strings.Contains(about, `"fourcc":"BGR4"`) || !strings.Contains(about, `"timings":"16x8p60"`) {
			t.Errorf("told %s", about)
		}
		if !slices.ContainsFunc(p.metas, func(m frame.Meta) bool { return m.Missed == frame.FormatChange }) {
			t.Error("there is no gap")
		}
	}
}

// Where userptr does not fit the new signal, frames are copied, and one event says so.
//
// Fault: `memory=userptr` does not work in a later mode
func TestUserPtrFallsBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *fakeDriver)
		reason string
	}{
		{"a ring of few slots", func(f *fakeDriver) { f.later = 3 }, "too small for userptr"},
		{"buffers larger than slots", func(f *fakeDriver) { f.padding = 3 * 4096 }, "slots have"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.frames(2)
			f.then(func() ready {
				tc.change(f)
				f.play(32, 16, 60)
				f.change()
				return ready{event: true}
			})
			f.frames(2)
			f.then(func() ready { f.fail[vidiocDqbuf] = []error{unix.EIO}; return ready{failed: true} })
			f.frames(1)
			p, err := f.run("memory=userptr", 16, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.metas) != 5 {
				t.Errorf("frames %+v", p.metas)
			}
			if want := []string{"format changed", "signal described", "memory changed",
				"stream restarted"}; !slices.Equal(p.kinds, want) {
				t.Fatalf("told %q, want %q", p.kinds, want)
			}
			if !strings.Contains(string(p.events[2].Data), tc.reason) {
				t.Errorf("told %s", p.events[2].Data)
			}
		})
	}
	t.Run("not at first", func(t *testing.T) {
		f := newFake(t)
		f.frames(2)
		_, err := f.run("memory=userptr", 3, true)
		if err == nil || !strings.Contains(err.Error(), "too small for userptr") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// Counted goes on where no frame comes.
func TestCounted(t *testing.T) {
	for _, tc := range []struct {
		name        string
		script      func(f *fakeDriver)
		least, most uint64 // after the last frame
		why         frame.Cause
	}{
		{"nothing is missing", func(f *fakeDriver) {}, 0, 0, frame.NoCause},
		{"the next frame is on its way", func(f *fakeDriver) { f.then(func() ready { f.pass(1); return ready{} }) }, 0,
			0, frame.NoCause},
		{"one came as it ended", func(f *fakeDriver) {
			f.then(func() ready { f.frame(0, 0, 1); f.over(); return ready{} })
		}, 0, 0, frame.NoCause},
		{"the driver has dropped the last", func(f *fakeDriver) { f.then(func() ready { f.pass(20); return ready{} }) },
			18, 20, frame.DriverLost},
		{"600 periods without a signal", func(f *fakeDriver) {
			f.then(func() ready {
				f.signal = unix.ENOLINK
				f.change()
				f.idle = f.overAfter(600)
				return ready{event: true}
			})
		}, 600, 604, frame.SignalLost},
		{"600 periods of a refused signal", func(f *fakeDriver) {
			f.then(func() ready {
				f.timings.bt.interlaced = 1
				f.change()
				f.idle = f.overAfter(600)
				return ready{event: true}
			})
		}, 600, 620, frame.SignalRefused},
		{"a device that is gone", func(f *fakeDriver) {
			f.then(func() ready {
				f.vanish()
				f.signal = unix.ENOLINK // when it is back
				f.idle = f.overAfter(600)
				return ready{frame: true}
			})
		}, 600, 604, frame.DeviceGone},
		{"silence", func(f *fakeDriver) {
			silence := func() ready { f.pass(60); return ready{} }
			f.then(slices.Repeat([]func() ready{silence}, 10)...)
		}, 600, 1500, frame.SignalLost},
		{"frames of a signal that has changed are not stored", func(f *fakeDriver) {
			f.then(func() ready {
				f.signal = unix.ENOLINK
				f.change()
				f.frame(0, 0, 1)
				f.frame(0, 0, 1)
				f.over()
				return ready{event: true, frame: true}
			})
		}, 2, 2, frame.SignalLost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.frames(5)
			tc.script(f)
			p, err := f.run("", 16, true)
			if err != nil {
				t.Fatal(err)
			}
			end := p.metas[len(p.metas)-1].Sequence
			if p.last < end+tc.least || p.last > end+tc.most || p.why != tc.why {
				t.Errorf("counted %d (%v) after frame %d, want %d to %d more (%v)", p.last, p.why, end, tc.least,
					tc.most, tc.why)
			}
		})
	}
}

// overAfter ends the recording when so many periods have passed.
func (f *fakeDriver) overAfter(periods timeline.Time) func() {
	end := f.clock.now + periods*period60
	return func() {
		if f.clock.now >= end {
			f.over()
		}
	}
}

// A frame does not get a number that Counted reported as spent. Before the first frame, none is
// spent.
func TestCountedThenRun(t *testing.T) {
	f := newFake(t)
	s, err := f.source("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, why, any := s.Counted(); n != 0 || why != frame.NoCause || any {
		t.Errorf("counted %d, %v, %v before the first frame", n, why, any)
	}
	next := uint64(0)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f.over = cancel
		f.frames(2)
		f.then(func() ready {
			f.signal = unix.ENOLINK
			f.change()
			f.frame(0, 0, 1)
			f.frame(0, 0, 1)
			f.over()
			return ready{event: true, frame: true}
		})
		ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(8, s.now.size)+ringbuf.Alignment),
			s.now.size)
		if err != nil {
			t.Fatal(err)
		}
		reader := ring.NewReader(ringbuf.Lossless)
		if err := s.Run(ctx, ring, func(timeline.Event) {}); err != nil {
			t.Fatal(err)
		}
		var p played
		drainRing(reader, &p)
		if len(p.metas) != 2 || round > 0 && p.metas[0].Sequence <= next {
			t.Fatalf("round %d: frames %+v after %d", round, p.metas, next)
		}
		if round > 0 && p.metas[0].Sequence > next+1 && p.metas[0].Missed == frame.NoCause {
			t.Error("nobody says why frames are missing")
		}
		next, _, _ = s.Counted()
		if again, _, _ := s.Counted(); again != next || next < p.metas[1].Sequence+2 {
			t.Errorf("counted %d, then %d, after %d", next, again, p.metas[1].Sequence)
		}
		f.signal = nil
	}
}

// A receiver that does not look at its signal just now is described all the same.
func TestInspectWithoutASignal(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *fakeDriver)
		want   string
	}{
		{"busy", func(f *fakeDriver) { f.fail[vidiocQueryDVTimings] = []error{unix.EBUSY} },
			"in use by another program"},
		{"timings of zero", func(f *fakeDriver) { f.timings = dvTimings{} }, "which no signal has"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			// formats of the others are listed by a library, from a real node
			f.caps = capVideoCaptureMplane | capStreaming
			tc.change(f)
			d, err := newDevice(f, "/dev/fake")
			if err != nil {
				t.Fatal(err)
			}
			var out Device
			if err := d.inspect(&out); err != nil {
				t.Fatal(err)
			}
			if len(out.Formats) != 2 || out.Signal != SignalUnknown || out.SignalErr == nil ||
				!strings.Contains(out.SignalErr.Error(), tc.want) {
				t.Errorf("%v (%v), formats %v", out.Signal, out.SignalErr, out.Formats)
			}
		})
	}
}

// A rate that is slower by 1.001 is believed of receivers that can tell.
func TestReducedRate(t *testing.T) {
	for flags, want := range map[uint32]string{
		0:                        "60",
		timingsReducedFPS:        "60",
		timingsDetectsReducedFPS: "60",
		timingsReducedFPS | timingsDetectsReducedFPS: "59.94",
	} {
		f := newFake(t)
		f.timings.bt.flags = flags
		got, err := f.timings.decode()
		if err != nil || rateString(got.Period) != want {
			t.Errorf("flags %#x: %v, %v, want %s", flags, got, err, want)
		}
	}
}
