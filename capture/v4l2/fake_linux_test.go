//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// fakeClock moves only when the driver does.
type fakeClock struct{ now timeline.Time }

func (c *fakeClock) Now() timeline.Time { return c.now }

// fakeDriver plays a driver from a script: each time the source waits for frames, the next step
// happens. When the script is over, so is the recording.
type fakeDriver struct {
	t       *testing.T
	clock   *fakeClock
	caps    uint32
	formats []formatDesc
	pix     pixFormat // what S_FMT sets; strides and sizes stay
	fixed   bool      // S_FMT changes nothing
	timings dvTimings
	signal  error // of QUERY_DV_TIMINGS
	status  uint32
	period  fract // 0: G_PARM says nothing

	fail map[uintptr][]error // what requests return next, one by one
	gone bool

	script []func() ready
	over   func()

	memory  [][]byte // of mmap
	mapped  int
	buffers []fakeBuffer
	queued  []int // in the order in which they came
	done    []fakeDone
	events  []event
	on      bool
	seq     uint32
	fill    byte
	closed  int
	userPtr bool
	hold    bool // nobody reads the ring

	idle    func() // at each wait without a stream
	reqbufs func() // before buffers are made
	padding int    // of buffers, behind the picture
	later   int    // slots of rings after the first, if not 0
}

type fakeBuffer struct{ mem []byte }

type fakeDone struct {
	index int
	flags uint32
	seq   uint32
	at    timeline.Time
	used  int
}

// fakeSize is that of the picture: 16x8 in BGR4.
const fakeWidth, fakeHeight = 16, 8

func newFake(t *testing.T) *fakeDriver {
	f := &fakeDriver{
		t: t, clock: &fakeClock{now: 1e12}, caps: capVideoCapture | capStreaming,
		formats: []formatDesc{{uint32(frame.BGR4), 0, "32-bit BGRX"}, {uint32(frame.YUYV), 0, "YUYV"}},
		fail:    map[uintptr][]error{}, userPtr: true,
	}
	f.set(frame.BGR4, fakeWidth, fakeHeight)
	f.play(fakeWidth, fakeHeight, 60)
	return f
}

// set is the format that the driver has.
func (f *fakeDriver) set(p frame.PixelFormat, w, h int) {
	format, err := frame.NewFormat(p, w, h)
	if err != nil {
		f.t.Fatal(err)
	}
	f.pix = pixFormat{
		width: uint32(w), height: uint32(h), pixelformat: uint32(p), field: fieldNone,
		bytesperline: uint32(format.Stride), sizeimage: uint32(format.Size() + f.padding), priv: pixFormatPrivMagic,
		colorspace: spaceSRGB,
	}
}

// play is the signal.
func (f *fakeDriver) play(w, h, rate int) {
	total := uint64(w+8) * uint64(h+4)
	f.signal = nil
	f.timings = dvTimings{bt: btTimings{width: uint32(w), height: uint32(h), hfrontporch: 8, vfrontporch: 4,
		pixelclock: [2]uint32{uint32(total * uint64(rate)), 0}}}
}

func as[T any](arg unsafe.Pointer) *T { return (*T)(arg) }

func (f *fakeDriver) ioctl(request uintptr, arg unsafe.Pointer) error {
	if next := f.fail[request]; len(next) > 0 {
		f.fail[request] = next[1:]
		if next[0] != nil {
			return next[0]
		}
	}
	if f.gone {
		return unix.ENODEV
	}
	switch request {
	case vidiocQueryCap:
		c := as[capability](arg)
		copy(c.driver[:], "fake")
		copy(c.card[:], "Fake Card")
		copy(c.busInfo[:], "usb-1")
		c.capabilities = f.caps
	case vidiocEnumFmt:
		d := as[fmtdesc](arg)
		if int(d.index) >= len(f.formats) {
			return unix.EINVAL
		}
		d.pixelformat, d.flags = f.formats[d.index].fourcc, f.formats[d.index].flags
		copy(d.description[:], f.formats[d.index].about)
	case vidiocGFmt:
		as[formatSingle](arg).pix = f.pix
	case vidiocSFmt:
		f.setFormat(&as[formatSingle](arg).pix)
	case vidiocGInput:
		*as[int32](arg) = 0
	case vidiocEnumInput:
		in := as[input](arg)
		if in.index > 0 {
			return unix.EINVAL
		}
		copy(in.name[:], "HDMI")
		in.status = f.status
	case vidiocQueryDVTimings:
		if f.signal != nil {
			return f.signal
		}
		*as[dvTimings](arg) = f.timings
	case vidiocSDVTimings:
	case vidiocSParm:
		if f.period.denominator == 0 {
			return unix.ENOTTY
		}
		as[streamparm](arg).timeperframe = f.period
	case vidiocGParm:
		p := as[streamparm](arg)
		if f.period.denominator != 0 {
			p.capability, p.timeperframe = capTimePerFrame, f.period
		}
	case vidiocSubscribe:
	case vidiocDQEvent:
		if len(f.events) == 0 {
			return unix.ENOENT
		}
		*as[event](arg) = f.events[0]
		f.events = f.events[1:]
		as[event](arg).pending = uint32(len(f.events))
	default:
		return f.stream(request, arg)
	}
	return nil
}

func (f *fakeDriver) setFormat(p *pixFormat) {
	if f.fixed {
		*p = f.pix
		return
	}
	colour := f.pix
	f.set(frame.PixelFormat(p.pixelformat), int(p.width), int(p.height))
	f.pix.colorspace, f.pix.ycbcrEnc, f.pix.quantization, f.pix.xferFunc = colour.colorspace, colour.ycbcrEnc,
		colour.quantization, colour.xferFunc
	*p = f.pix
}

func (f *fakeDriver) stream(request uintptr, arg unsafe.Pointer) error {
	switch request {
	case vidiocReqbufs:
		return f.request(as[requestbuffers](arg))
	case vidiocQuerybuf:
		b := as[buffer](arg)
		b.length, b.m = uint32(len(f.memory[b.index])), uintptr(b.index)<<12
	case vidiocQbuf:
		b := as[buffer](arg)
		if b.memory == memoryUserPtr {
			at := *(*unsafe.Pointer)(unsafe.Pointer(&b.m))
			f.buffers[b.index].mem = unsafe.Slice((*byte)(at), b.length)
		}
		f.queued = append(f.queued, int(b.index))
	case vidiocDqbuf:
		return f.dequeue(as[buffer](arg))
	case vidiocStreamOn:
		f.on, f.seq = true, 0
	case vidiocStreamOff:
		f.on, f.queued, f.done = false, nil, nil
	default:
		return unix.ENOTTY
	}
	return nil
}

func (f *fakeDriver) request(r *requestbuffers) error {
	if r.memory == memoryUserPtr && !f.userPtr {
		return unix.EINVAL
	}
	if f.reqbufs != nil && r.count > 0 {
		f.reqbufs()
	}
	if f.mapped > 0 && r.count == 0 {
		f.t.Errorf("buffers are given back with %d mappings", f.mapped)
	}
	f.on, f.queued, f.done = false, nil, nil
	f.memory, f.buffers = nil, make([]fakeBuffer, r.count)
	for i := range r.count {
		f.memory = append(f.memory, make([]byte, f.pix.sizeimage))
		f.buffers[i].mem = f.memory[i]
	}
	return nil
}

func (f *fakeDriver) dequeue(b *buffer) error {
	if len(f.done) == 0 {
		return unix.EAGAIN
	}
	d := f.done[0]
	f.done = f.done[1:]
	b.index, b.flags, b.sequence, b.bytesused = uint32(d.index), d.flags, d.seq, uint32(d.used)
	b.sec, b.usec = int64(d.at)/1e9, int64(d.at)%1e9/1000
	return nil
}

func (f *fakeDriver) mmap(fd, length int, offset int64) ([]byte, error) {
	f.mapped++
	return f.memory[offset>>12][:length], nil
}

func (f *fakeDriver) munmap([]byte) error         { f.mapped--; return nil }
func (f *fakeDriver) syncDMA(int, uint64) error   { return nil }
func (f *fakeDriver) closeFD(int) error           { return nil }
func (f *fakeDriver) close() error                { f.closed++; f.on = false; return nil }
func (f *fakeDriver) pass(periods timeline.Time)  { f.clock.now += periods * period60 }
func (f *fakeDriver) then(steps ...func() ready)  { f.script = append(f.script, steps...) }
func (f *fakeDriver) open(p string) (node, error) { return f, nil }

func (f *fakeDriver) wait(_ *bell, d time.Duration, streaming bool) (ready, error) {
	switch {
	case !streaming:
		f.clock.now = f.clock.now.Add(d)
		if f.idle != nil {
			f.idle()
		}
		return ready{event: len(f.events) > 0}, nil
	case !f.on:
		f.t.Error("the source waits for frames of a stream that is off")
	}
	if len(f.script) == 0 {
		f.over()
		return ready{}, nil
	}
	step := f.script[0]
	f.script = f.script[1:]
	return step(), nil
}

// frames are so many steps of one frame each, a period apart.
func (f *fakeDriver) frames(n int) {
	for range n {
		f.then(func() ready { f.frame(0, 0, 1); return ready{frame: true} })
	}
}

// frame fills the next buffer: used bytes less than all, with flags, and counts on by step.
func (f *fakeDriver) frame(flags uint32, missing int, step uint32) {
	f.pass(1)
	if len(f.queued) == 0 {
		f.t.Error("the driver has no buffer: it starves")
		return
	}
	i := f.queued[0]
	f.queued = f.queued[1:]
	f.fill++
	mem := f.buffers[i].mem
	for k := range int(f.pix.sizeimage) - missing {
		mem[k] = f.fill
	}
	f.done = append(f.done, fakeDone{i, flags | bufFlagTimestampMonotonic, f.seq, f.clock.now,
		int(f.pix.sizeimage) - missing})
	f.seq += step
}

// change queues an event of the source.
func (f *fakeDriver) change() {
	f.events = append(f.events, event{typ: eventSourceChange, changes: 1, sec: int64(f.clock.now) / 1e9,
		nsec: int64(f.clock.now) % 1e9})
}

// fakeSource opens a source over the driver.
func (f *fakeDriver) source(params string) (*source, error) {
	q, err := url.ParseQuery(params)
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := openWith(f.t.Context(), "/dev/fake", q, f.open,
		func(identity, string) (string, error) { return "/dev/fake", nil })
	if err != nil {
		return nil, err
	}
	s.(*source).clock = f.clock
	return s.(*source), nil
}

// played is the result of a script.
type played struct {
	metas  []frame.Meta
	pixels [][]byte
	lost   []uint64
	kinds  []string
	events []timeline.Event
	last   uint64 // what Counted says at the end
	why    frame.Cause
}

// play opens a source and runs it until its script ends. It follows changes of the format and
// returns the result.
func (f *fakeDriver) run(params string, slots int, read bool) (p played, err error) {
	f.t.Helper()
	s, err := f.source(params)
	if err != nil {
		if f.closed != 1 {
			f.t.Errorf("the device was closed %d times", f.closed)
		}
		return p, err
	}
	return f.record(s, slots, read)
}

// record is run for a source that is open.
func (f *fakeDriver) record(s *source, slots int, read bool) (p played, err error) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.over = cancel
	hear := func(e timeline.Event) { p.kinds, p.events = append(p.kinds, e.Kind), append(p.events, e) }
	for {
		size := s.Info().Format.Size()
		memory := make([]byte, ringbuf.BytesFor(slots, size)+ringbuf.Alignment)
		ring, ringErr := ringbuf.New[frame.Meta](memory, size)
		if ringErr != nil {
			f.t.Fatal(ringErr)
		}
		reader := ring.NewReader(ringbuf.Lossless)
		if read { // beside the source, as fast as it can
			f.script = between(f.script, func() {
				if !f.hold {
					drainRing(reader, &p)
				}
			})
		}
		err = s.Run(ctx, ring, hear)
		ring.Close(nil)
		drainRing(reader, &p)
		if n := ring.Stats().Leased(); n != 0 {
			f.t.Errorf("%d leases are left", n)
		}
		if !errors.Is(err, capture.ErrFormatChanged) {
			break
		}
		if err = s.Renegotiate(ctx, hear); err != nil {
			break
		}
		slots = cmp.Or(f.later, slots)
	}
	p.last, p.why, _ = s.Counted()
	if closeErr := s.Close(); closeErr != nil {
		f.t.Error(closeErr)
	}
	if f.mapped != 0 || f.on {
		f.t.Errorf("%d mappings are left, streaming %v", f.mapped, f.on)
	}
	return p, err
}

// between has something done after each step.
func between(script []func() ready, do func()) []func() ready {
	var all []func() ready
	for _, step := range script {
		all = append(all, func() ready { do(); return step() })
	}
	return all
}

func drainRing(reader *ringbuf.Reader[frame.Meta], p *played) {
	for {
		l, err := reader.TryNext()
		if l == nil || err != nil {
			return
		}
		p.metas = append(p.metas, l.Meta())
		p.lost = append(p.lost, l.LostBefore())
		p.pixels = append(p.pixels, append([]byte(nil), l.Bytes()...))
		l.Release()
	}
}
