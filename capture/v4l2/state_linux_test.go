//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
)

// The state machine against a driver that plays a script. To settle takes the source 50 ms of the
// driver's clock, three periods.
func TestStates(t *testing.T) {
	frames := func(n int) func(*fakeDriver) { return func(f *fakeDriver) { f.frames(n) } }
	do := func(step func(f *fakeDriver) ready) func(*fakeDriver) {
		return func(f *fakeDriver) { f.then(func() ready { return step(f) }) }
	}
	for _, tc := range []struct {
		name   string
		params string
		script []func(*fakeDriver)
		want   []uint64 // sequence numbers
		missed frame.Cause
		kinds  []string
		err    error
	}{
		{"frames", "", []func(*fakeDriver){frames(5)}, []uint64{0, 1, 2, 3, 4}, 0, nil, nil},
		{"frames into the ring's own memory", "memory=userptr", []func(*fakeDriver){frames(5)}, []uint64{0, 1, 2, 3, 4},
			0, nil, nil},
		{"the driver loses two", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.seq += 2
			f.pass(2)
			return ready{}
		}), frames(2)},
			[]uint64{0, 1, 4, 5}, frame.DriverLost, nil, nil},
		{"a stream that stalls is begun again", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.pass(60)
			return ready{}
		}), frames(2)},
			[]uint64{0, 1, 66, 67}, frame.SignalLost, []string{"signal lost", "signal back"}, nil},
		{"an error of the queue", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.fail[vidiocDqbuf] = []error{unix.EIO}
			return ready{failed: true}
		}), frames(2)}, []uint64{0, 1, 5, 6}, frame.DriverLost, []string{"stream restarted"}, nil},
		{"a hint at an error that is none", "", []func(*fakeDriver){frames(2), hints(maxHints), frames(2)},
			[]uint64{0, 1, 2, 3}, 0, nil, nil},
		{"hints without an end", "", []func(*fakeDriver){frames(2), hints(maxHints + 1), frames(2)},
			[]uint64{0, 1, 5, 6}, frame.DriverLost, []string{"stream restarted"}, nil},
		{"QBUF fails once", "", []func(*fakeDriver){frames(1), do(func(f *fakeDriver) ready {
			f.fail[vidiocQbuf] = []error{unix.EINVAL}
			f.frame(0, 0, 1)
			return ready{frame: true}
		}), frames(2)}, []uint64{0, 1, 2, 3}, 0, nil, nil},
		{"QBUF fails twice", "", []func(*fakeDriver){frames(1), do(func(f *fakeDriver) ready {
			f.fail[vidiocQbuf] = []error{unix.EINVAL, unix.EINVAL}
			f.frame(0, 0, 1)
			return ready{frame: true}
		}), frames(2)}, []uint64{0, 1, 5, 6}, frame.DriverLost, []string{"stream restarted"}, nil},
		{"STREAMON fails for ever", "", []func(*fakeDriver){frames(1), do(func(f *fakeDriver) ready {
			f.fail[vidiocStreamOn] = slices.Repeat([]error{unix.EIO}, 100)
			f.fail[vidiocDqbuf] = []error{unix.EIO}
			return ready{failed: true}
		})}, []uint64{0}, 0, []string{"stream restarted", "stream restarted"}, unix.EIO},
		{"the same signal is announced again", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.change()
			return ready{event: true}
		}), frames(2)},
			[]uint64{0, 1, 2, 3}, 0, nil, nil},
		{"end of stream", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.events = append(f.events, event{typ: eventEOS})
			return ready{event: true}
		}), frames(1)}, []uint64{0, 1, 5}, frame.DriverLost, []string{"stream restarted"}, nil},
		{"a buffer that the driver never had", "", []func(*fakeDriver){frames(1), do(func(f *fakeDriver) ready {
			f.done = append(f.done, fakeDone{index: 77})
			return ready{frame: true}
		}), frames(1)}, []uint64{0, 4}, frame.DriverLost, []string{"stream restarted"}, nil},
		{"unplugged before the first frame", "", []func(*fakeDriver){do(func(f *fakeDriver) ready {
			f.gone = true
			f.fail[vidiocDqbuf] = []error{unix.ENODEV}
			return ready{frame: true}
		})}, nil, 0, nil, errNoDevice},
		{"unplugged and back", "", []func(*fakeDriver){frames(2), do(func(f *fakeDriver) ready {
			f.fail[vidiocDqbuf] = []error{unix.ENODEV}
			f.pass(5)
			return ready{frame: true}
		}), frames(2)}, []uint64{0, 1, 10, 11}, frame.DeviceGone, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			for _, s := range tc.script {
				s(f)
			}
			p, err := f.run(tc.params, 16, true)
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("it ended with %v, want %v", err, tc.err)
			}
			p.check(t, tc.want, tc.missed)
			if tc.kinds != nil && !slices.Equal(p.kinds, tc.kinds) {
				t.Errorf("told %v, want %v", p.kinds, tc.kinds)
			}
		})
	}
}

// check compares the numbers, the reason of the one hole, and the bytes of each frame with the
// driver's.
func (p *played) check(t *testing.T, want []uint64, missed frame.Cause) {
	t.Helper()
	var got []uint64
	for i, m := range p.metas {
		got = append(got, m.Sequence)
		hole := i > 0 && m.Sequence != p.metas[i-1].Sequence+1
		if hole && m.Missed != missed || !hole && m.Missed != frame.NoCause {
			t.Errorf("frame %d says %v, want %v", m.Sequence, m.Missed, missed)
		}
		if !m.Sampled.Valid() {
			t.Errorf("frame %d was sampled %v", m.Sequence, m.Sampled)
		}
		if i > 0 && m.Flags == 0 && p.pixels[i][0] <= p.pixels[i-1][0] {
			t.Errorf("frame %d has the bytes of an earlier one", m.Sequence)
		}
		for _, b := range p.pixels[i] {
			if b != p.pixels[i][0] && m.Flags&frame.FlagError == 0 {
				t.Fatalf("frame %d is of two frames", m.Sequence)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("frames %v, want %v", got, want)
	}
}

// A full ring loses frames that it counts, and the driver never lacks a buffer.
func TestFullRing(t *testing.T) {
	for _, memory := range []string{"mmap", "userptr"} {
		t.Run(memory, func(t *testing.T) {
			f := newFake(t)
			f.frames(30)
			p, err := f.run("buffers=3&memory="+memory, 8, false)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.metas) < 4 || len(p.metas) > 9 {
				t.Fatalf("%d frames in a ring of 8 slots", len(p.metas))
			}
			for i, m := range p.metas {
				if m.Sequence != uint64(i) || p.pixels[i][0] != byte(i+1) {
					t.Errorf("frame %d is %d with bytes %d", i, m.Sequence, p.pixels[i][0])
				}
			}
		})
	}
}

// Losses of the ring in the middle are counted before the next frame. They do not change the
// source's reason.
func TestRingLossInTheMiddle(t *testing.T) {
	for _, memory := range []string{"mmap", "userptr"} {
		t.Run(memory, func(t *testing.T) {
			f := newFake(t)
			hold := func(on bool) { f.then(func() ready { f.hold = on; return ready{} }) }
			f.frames(5)
			hold(true)
			f.frames(20)
			hold(false)
			f.frames(5)
			p, err := f.run("buffers=3&memory="+memory, 8, true)
			if err != nil {
				t.Fatal(err)
			}
			holes := 0
			for i, m := range p.metas {
				if i == 0 {
					continue
				}
				missing := m.Sequence - p.metas[i-1].Sequence - 1
				if missing > 0 {
					holes++
				}
				if missing != p.lost[i] || m.Missed != frame.NoCause || p.pixels[i][0] != byte(m.Sequence+1) {
					t.Errorf("before frame %d are missing %d, the ring lost %d, the source says %v, bytes %d",
						m.Sequence, missing, p.lost[i], m.Missed, p.pixels[i][0])
				}
			}
			if holes != 1 || p.metas[len(p.metas)-1].Sequence != 29 {
				t.Errorf("%d holes, last frame %d", holes, p.metas[len(p.metas)-1].Sequence)
			}
		})
	}
}

// Frames that are short, or that the driver marks as damaged, are stored and marked. Missing bytes
// are 0.
func TestDamagedFrames(t *testing.T) {
	for _, memory := range []string{"mmap", "userptr"} {
		t.Run(memory, func(t *testing.T) {
			f := newFake(t)
			f.frames(3)
			f.then(
				func() ready { f.frame(bufFlagError, 0, 1); return ready{frame: true} },
				func() ready { f.frame(0, 10, 1); return ready{frame: true} },
				func() ready { f.frame(0, int(f.pix.sizeimage), 1); return ready{frame: true} },
			)
			f.frames(1)
			p, err := f.run("memory="+memory, 16, true)
			if err != nil {
				t.Fatal(err)
			}
			p.check(t, []uint64{0, 1, 2, 3, 4, 5, 6}[:len(p.metas)], 0)
			for i, want := range []frame.Flags{0, 0, 0, frame.FlagError, frame.FlagError, frame.FlagError, 0} {
				if p.metas[i].Flags != want {
					t.Errorf("frame %d is marked %v, want %v", i, p.metas[i].Flags, want)
				}
			}
			for _, i := range []int{4, 5} {
				if last := p.pixels[i][len(p.pixels[i])-1]; last != 0 {
					t.Errorf("what is missing of frame %d is %d", i, last)
				}
			}
		})
	}
}

// A signal that changes goes on in another format, with numbers that go on.
func TestFormatChange(t *testing.T) {
	f := newFake(t)
	f.frames(3)
	f.then(func() ready {
		f.frame(0, 0, 1) // before the change: kept
		f.pass(1)
		f.play(32, 16, 60)
		f.change()
		f.frame(0, 0, 1) // after it: of neither format
		return ready{event: true, frame: true}
	})
	f.frames(2)
	p, err := f.run("", 16, false)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, b := range p.pixels {
		sizes = append(sizes, len(b))
	}
	if small, large := fakeWidth*fakeHeight*4,
		32*16*4; !slices.Equal(sizes, []int{small, small, small, small, large, large}) {
		t.Errorf("frames of %v bytes", sizes)
	}
	m := p.metas[4]
	if m.Missed != frame.FormatChange || m.Sequence <= p.metas[3].Sequence+1 {
		t.Errorf("the first frame of the new format is %d after %d, missed %v", m.Sequence, p.metas[3].Sequence,
			m.Missed)
	}
	if !slices.Contains(p.kinds, "format changed") {
		t.Errorf("told %v", p.kinds)
	}
}

// Whatever cannot be recorded as it is, is refused with the reason, and nothing is left open.
//
// Fault: The device lacks a format, size, rate or memory type
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		params string
		change func(f *fakeDriver)
		is     error
		want   []string
	}{
		{"compressed only", "", func(f *fakeDriver) {
			f.formats = []formatDesc{{uint32(0x47504a4d), fmtFlagCompressed, "Motion-JPEG"}}
			f.pix.pixelformat = 0x47504a4d
		},
			errUnsupported, []string{"lossy formats (MJPG)"}},
		{"compressed, asked for", "format=MJPG", func(f *fakeDriver) {
			f.formats = append(f.formats, formatDesc{uint32(0x47504a4d), fmtFlagCompressed, "Motion-JPEG"})
		}, errUnsupported, []string{"MJPG is compressed", "BGR4 YUYV"}},
		{"a format that it has not", "format=NV12", nil, nil, []string{"no format NV12", "BGR4 YUYV"}},
		{"interlaced", "", func(f *fakeDriver) { f.timings.bt.interlaced = 1 }, errUnsupported,
			[]string{"interlaced", "progressive"}},
		{"fields", "", func(f *fakeDriver) { f.pix.field = 4; f.fixed = true }, errUnsupported,
			[]string{"fields (interlaced)"}},
		{"another size", "", func(f *fakeDriver) { f.set(frame.BGR4, 8, 8); f.fixed = true }, nil,
			[]string{"asked for 16x8", "gives 8x8"}},
		{"another format", "format=YUYV", func(f *fakeDriver) { f.fixed = true }, nil,
			[]string{"asked for YUYV", "gives BGR4"}},
		{"timings of zero", "", func(f *fakeDriver) { f.timings = dvTimings{} }, nil, []string{"0x0", "no signal has"}},
		{"timings beyond belief", "", func(f *fakeDriver) { f.timings.bt.hfrontporch = 1 << 31 }, nil,
			[]string{"no signal has"}},
		{"no cable", "", func(f *fakeDriver) { f.signal = unix.ENOLINK; f.status = inputNoPower }, errNoCable, nil},
		{"no signal", "", func(f *fakeDriver) { f.signal = unix.ENOLINK }, errNoSignal, nil},
		{"no lock", "", func(f *fakeDriver) { f.signal = unix.ENOLCK }, errNoLock, nil},
		{"out of range", "", func(f *fakeDriver) { f.signal = unix.ERANGE }, errOutOfRange, nil},
		{"protected", "", func(f *fakeDriver) { f.status = inputNoAccess }, errProtected, []string{"HDCP"}},
		{"no DV timings, no signal", "", func(f *fakeDriver) { f.signal = unix.ENOTTY; f.status = inputNoSignal },
			errNoSignal, nil},
		{"timings that the receiver does not take", "",
			func(f *fakeDriver) { f.fail[vidiocSDVTimings] = []error{unix.EINVAL} }, errOutOfRange,
			[]string{"16x8p60", "does not support it"}},
		{"timings that cannot be set", "", func(f *fakeDriver) { f.fail[vidiocSDVTimings] = []error{unix.ENOTTY} },
			errUnsupported, []string{"16x8p60", "cannot be set to it"}},
		{"a receiver that is busy", "",
			func(f *fakeDriver) { f.fail[vidiocQueryDVTimings] = slices.Repeat([]error{unix.EBUSY}, 9) }, ErrBusy,
			[]string{"fuser -v /dev/fake"}},
		{"a row shorter than its pixels", "", func(f *fakeDriver) { f.pix.bytesperline = 3; f.fixed = true },
			frame.ErrFormat, []string{"stride of 3"}},
		{"an odd stride of planes", "format=YU12", func(f *fakeDriver) {
			f.formats = []formatDesc{{uint32(frame.YU12), 0, "YU12"}}
			f.set(frame.YU12, fakeWidth, fakeHeight)
			f.pix.bytesperline, f.pix.sizeimage, f.fixed = 17, 4096, true
		}, errUnsupported, []string{"rows of 17 bytes", "halve"}},
		{"a buffer too small", "", func(f *fakeDriver) { f.pix.sizeimage = 100; f.fixed = true }, nil,
			[]string{"100 bytes", "do not hold"}},
		{"a picture of nothing", "", func(f *fakeDriver) { f.pix.sizeimage = 0; f.fixed = true }, nil,
			[]string{"0 bytes"}},
		{"a matrix without a name", "format=YUYV", func(f *fakeDriver) { f.pix.colorspace = spaceSMPTE240M },
			errUnsupported, []string{"smpte240m", "BT.709"}},
		{"no memory of ours", "memory=userptr", func(f *fakeDriver) { f.userPtr = false }, nil,
			[]string{"userptr", "memory=mmap"}},
		{"no memory in pieces", "memory=userptr",
			func(f *fakeDriver) { f.fail[vidiocQbuf] = []error{unix.EFAULT, unix.EFAULT} }, unix.EFAULT,
			[]string{"userptr", "use memory=mmap"}},
		{"buffers larger than slots", "memory=userptr",
			func(f *fakeDriver) { f.pix.sizeimage = 3 * 4096; f.fixed = true }, errUnsupported,
			[]string{"12288 bytes", "slots have 4096"}},
		{"no export", "memory=dmabuf", nil, nil, []string{"dmabuf", "memory=mmap"}},
		{"held", "", func(f *fakeDriver) { f.fail[vidiocSFmt] = []error{unix.EBUSY} }, ErrBusy,
			[]string{"another program"}},
		{"gone meanwhile", "", func(f *fakeDriver) { f.fail[vidiocSFmt] = []error{unix.ENODEV} }, unix.ENODEV, nil},
		{"an output", "", func(f *fakeDriver) { f.caps = capVideoOutput | capStreaming }, errNoDevice,
			[]string{"a video output node"}},
		{"metadata", "", func(f *fakeDriver) { f.caps = capMetaCapture | capStreaming }, errNoDevice,
			[]string{"a metadata node"}},
		{"only read(2)", "", func(f *fakeDriver) { f.caps = capVideoCapture }, errNoDevice, []string{"no streaming"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			if tc.change != nil {
				tc.change(f)
			}
			params := "wait=0s"
			if tc.params != "" {
				params += "&" + tc.params
			}
			p, err := f.run(params, 16, true)
			if err == nil {
				t.Fatalf("it opens and gives %d frames", len(p.metas))
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is no %v", err, tc.is)
			}
			for _, want := range append(tc.want, "v4l2:/dev/fake") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

// Range and matrix are those that the driver reports.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pixel  string
		colour colourNumbers
		rng    frame.Range
		matrix frame.Matrix
		hdr    bool
	}{
		{"RGB", "BGR4", colourNumbers{space: spaceSRGB}, frame.FullRange, frame.NoMatrix, false},
		{"RGB of limited range", "BGR4", colourNumbers{space: spaceSRGB, quantization: quantizationLimited},
			frame.LimitedRange, frame.NoMatrix, false},
		{"YUV", "YUYV", colourNumbers{space: spaceSRGB}, frame.LimitedRange, frame.BT601, false},
		{"YUV of full range", "YUYV", colourNumbers{space: spaceRec709, quantization: quantizationFull},
			frame.FullRange, frame.BT709, false},
		{"as JPEG has it", "YUYV", colourNumbers{space: spaceJPEG}, frame.FullRange, frame.BT601, false},
		{"an encoding beside its space", "YUYV", colourNumbers{space: spaceSRGB, encoding: encoding709},
			frame.LimitedRange, frame.BT709, false},
		{"HDR", "YUYV", colourNumbers{space: spaceBT2020, transfer: transferSMPTE2084}, frame.LimitedRange,
			frame.BT2020, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.pix.colorspace, f.pix.ycbcrEnc, f.pix.quantization, f.pix.xferFunc = tc.colour.space, tc.colour.encoding,
				tc.colour.quantization, tc.colour.transfer
			s, err := f.source("format=" + tc.pixel)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			i := s.Info()
			if i.Format.Range != tc.rng || i.Format.Matrix != tc.matrix {
				t.Errorf("%v %v, want %v %v", i.Format.Range, i.Format.Matrix, tc.rng, tc.matrix)
			}
			if got := strings.Contains(string(i.Metadata[0].Value), `"hdr":true`); got != tc.hdr {
				t.Errorf("told %s", i.Metadata[0].Value)
			}
		})
	}
}

// Every format that a frame can have comes through, also those of ten bits, whose drivers no
// virtual device plays.
func TestEveryFormat(t *testing.T) {
	tested := 0
	for _, p := range frame.PixelFormats() {
		if p == frame.P444 {
			continue // V4L2 has none of that name
		}
		t.Run(p.String(), func(t *testing.T) {
			f := newFake(t)
			f.formats = []formatDesc{{uint32(p), 0, p.About()}}
			f.frames(3)
			played, err := f.run("format="+p.String(), 16, true)
			if err != nil {
				t.Fatal(err)
			}
			played.check(t, []uint64{0, 1, 2}, 0)
			tested++
		})
	}
	if tested < 20 {
		t.Errorf("%d formats were tested", tested)
	}
}

// hints has poll hint at an error some times, without one.
func hints(n int) func(*fakeDriver) {
	return func(f *fakeDriver) {
		for range n {
			f.then(func() ready { return ready{failed: true} })
		}
	}
}
