//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// source is one device while it is recorded.
type source struct {
	path  string
	set   settings
	uri   string
	info  capture.Info
	now   *setup
	clock timeline.Clock
	bell  *bell
	dev   *device // nil while it is gone, and after Close
	same  identity
	open  func(path string) (node, error)        // openNode, but in tests
	seek  func(identity, string) (string, error) // where the device is now; see finder

	subscribed bool          // the driver reports changes of the signal
	asked      timeline.Time // when the signal was asked after last

	count numbering
	stamp stamper
	told  told
	away  absence
	// Attempts in a row that brought no frame: failures are errors, stalls are those after which
	// none came.
	failures, stalls int
	followed         bool          // Renegotiate was called
	ended            timeline.Time // when Run or Renegotiate returned last
}

var (
	_ capture.Renegotiator = (*source)(nil)
	_ capture.Counter      = (*source)(nil)
)

// Open opens a capture device by its node, such as /dev/video0, or by any link to it. The
// parameters are:
//
//	input=0                          connector (default: the selected one)
//	format=BGR4                      V4L2 name of a pixel format (default: the device's, if it can be
//	                                 recorded)
//	size=1920x1080                   for devices without DV timings; others have the signal's
//	fps=60                           the same
//	memory=mmap|userptr|dmabuf       memory that the driver fills (default: mmap)
//	buffers=6                        number of buffers of the driver
//	edid=1920x1080@60,1280x720@60    modes to offer to the device under test, set only if they differ
//	                                 from the offered ones
//	wait=3s                          time to wait for a signal
//
// Open returns with a stable signal, or with one of this package's errors. The end of ctx ends the
// wait for a signal and so Open. The returned source does not use ctx.
func Open(ctx context.Context, target string, params url.Values) (capture.Source, error) {
	return openWith(ctx, target, params, func(path string) (node, error) { return openNode(path) }, findAgain)
}

func openWith(ctx context.Context, target string, params url.Values, open func(string) (node, error),
	seek func(identity, string) (string, error)) (capture.Source, error) {
	name := "v4l2:" + target
	if err := frame.CheckParams(name, params, paramNames()...); err != nil {
		return nil, err
	}
	set, err := parseParams(params)
	if err != nil {
		return nil, &frame.ParamsError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	if target == "" {
		return nil, &frame.ParamsError{
			Err: errors.New("v4l2: no device; use v4l2:/dev/video0, eideticker sources lists devices")}
	}
	s := &source{path: target, set: set, uri: name + frame.Query(params, paramNames()...), clock: timeline.Monotonic(),
		open: open, seek: seek}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), s.Close())
	}
	return s, nil
}

// begin opens the device and settles on a format.
func (s *source) begin(ctx context.Context) (err error) {
	if s.bell, err = newBell(); err != nil {
		return err
	}
	if err := s.openDevice(s.path); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	found, err := s.dev.negotiate(s.set)
	if err != nil {
		return err
	}
	if err := s.tryQueue(found); err != nil {
		return err
	}
	s.told = told{clock: s.clock} // nobody was there to be told
	return s.adopt(found)
}

// await waits for a signal, as long as the parameters say or until ctx ends.
func (s *source) await(ctx context.Context) error {
	defer s.bell.ringAtEnd(ctx)() // not at the timeout's end too: two looks that must agree lie apart also then
	limited, cancel := context.WithTimeout(ctx, s.set.wait)
	defer cancel()
	err := s.steady(limited)
	if ctx.Err() != nil {
		return fmt.Errorf("wait for a signal: %w", context.Cause(ctx))
	}
	return err
}

// openDevice opens a node and prepares it.
func (s *source) openDevice(path string) error {
	n, err := s.open(path)
	if err != nil {
		return err
	}
	d, err := newDevice(n, path)
	if err != nil {
		return errors.Join(err, n.close())
	}
	if err := d.prepare(s.set); err != nil {
		return errors.Join(err, n.close())
	}
	s.dev, s.same = d, identify(d)
	in, _ := d.inputNow()
	s.subscribed = d.subscribe(eventSourceChange, in.index) == nil
	if in.index != 0 {
		s.subscribed = d.subscribe(eventSourceChange, 0) == nil || s.subscribed
	}
	_ = d.subscribe(eventEOS, 0)                // what a driver cannot tell
	_ = d.subscribe(eventCtrl, cidPowerPresent) // is found by asking
	return nil
}

// prepare selects the input and has it offer the modes wanted, which a device forgets when it loses
// power.
func (d *device) prepare(set settings) error {
	if set.input >= 0 {
		if err := d.selectInput(set.input); err != nil {
			return err
		}
	}
	if set.edid != nil {
		return d.offer(set.edid)
	}
	return nil
}

// tryQueue makes buffers and gives them back, so that what cannot work is refused before anything
// is recorded.
func (s *source) tryQueue(found *setup) error {
	if s.set.memory == memUserPtr {
		if err := found.checkUserPtr(s.dev.path); err != nil {
			return err
		}
	}
	q, err := newQueue(s.dev, s.set.memory, s.set.buffers, len(found.driver.planes))
	if err != nil {
		return err
	}
	if s.set.memory == memUserPtr {
		return q.trySlot(found.size)
	}
	return q.release()
}

// trySlot gives the driver a slot like a ring's, and releases the queue. A driver whose device
// needs contiguous memory accepts user pointers in REQBUFS. It refuses most of them only when it
// sees them (EFAULT).
func (q *queue) trySlot(size int) (err error) {
	memory, err := ringbuf.Map(ringbuf.BytesFor(3, size), ringbuf.MapOptions{})
	if err != nil {
		return errors.Join(err, q.release())
	}
	defer func() { err = errors.Join(err, memory.Close()) }() // after the driver has let go of it
	ring, err := ringbuf.New[frame.Meta](memory.Bytes(), size)
	if err != nil {
		return errors.Join(err, q.release())
	}
	slot, _ := ring.TryAcquire() // a new ring has one
	err = q.giveTwice(q.place(slot), 0)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		err = fmt.Errorf("%s does not support the ring's memory (userptr: %w); use memory=mmap", q.d.path, err)
	}
	return errors.Join(err, q.release())
}

// checkUserPtr refuses formats that the driver cannot put into a slot of the ring by itself.
func (s *setup) checkUserPtr(path string) error {
	if len(s.driver.planes) > 1 {
		return fmt.Errorf("%w: %s delivers %v in %d memory pieces, but a ring slot is one; use memory=mmap",
			errUnsupported, path, frame.PixelFormat(s.driver.fourcc), len(s.driver.planes))
	}
	if slot, want := ringbuf.BytesFor(3, s.size)/3, s.driver.planes[0].bytes; want > slot {
		return fmt.Errorf("%w: %s needs buffers of %d bytes for frames of %d, but ring slots have %d; use memory=mmap",
			errUnsupported, path, want, s.size, slot)
	}
	return nil
}

// adopt makes a setup the source's own.
func (s *source) adopt(found *setup) error {
	s.now = found
	s.info = capture.Info{URI: s.uri, Format: found.format, Clocked: true, Period: found.period}
	s.stamp.period = timeline.Time(found.period.Duration(1))
	s.count.after = s.stamp.period
	if !s.count.any {
		s.count.period = s.count.after
	}
	about, err := json.Marshal(s.describe())
	if err != nil {
		return err
	}
	s.info.Metadata = []capture.Metadata{{Name: "v4l2.device", Value: about}}
	return nil
}

// deviceJSON is stored with a recording.
type deviceJSON struct {
	Driver   string `json:"driver"`
	Card     string `json:"card"`
	Bus      string `json:"bus"`
	Input    string `json:"input,omitempty"`
	Fourcc   string `json:"fourcc"`
	Memory   string `json:"memory"`
	Timings  string `json:"timings,omitempty"`
	ScanOut  int64  `json:"scan_out_ns,omitempty"` // from the first row of a frame to its last
	Colour   Colour `json:"colour"`
	Audio    string `json:"audio"`
	Planes   int    `json:"memory_planes"`
	MultiAPI bool   `json:"multi_planar_api"`
}

func (s *source) describe() deviceJSON {
	d := s.dev
	j := deviceJSON{
		Driver: d.driver, Card: d.card, Bus: d.bus, Fourcc: frame.PixelFormat(s.now.driver.fourcc).String(),
		Memory: string(s.set.memory), Colour: s.now.driver.colour.describe(s.now.format.Pixel.IsRGB()),
		Audio:  Device{}.Audio(),
		Planes: len(s.now.driver.planes), MultiAPI: d.multi,
	}
	if in, ok := d.inputNow(); ok {
		j.Input = text(in.name[:])
	}
	if s.now.timings != nil {
		j.Timings, j.ScanOut = s.now.timings.String(), s.now.timings.scanOut().Nanoseconds()
	}
	return j
}

func (s *source) Info() capture.Info { return s.info }

// Close gives the device back.
func (s *source) Close() error {
	var err error
	if s.dev != nil {
		err = s.dev.close()
		s.dev = nil
	}
	if s.bell != nil {
		err = errors.Join(err, s.bell.close())
		s.bell = nil
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", s.uri, err)
	}
	return nil
}

// Limits of retries.
const (
	maxFailures = 8
	firstPause  = 10 * time.Millisecond
	lastPause   = time.Second
)

// Run records until ctx ends or the signal changes its format. See capture.Renegotiator.
func (s *source) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	if s.bell == nil {
		return errors.New(s.uri + ": the source is closed")
	}
	if err := s.info.Fits(ring); err != nil {
		return err
	}
	defer s.bell.ringAtEnd(ctx)()
	defer func() { s.ended = s.clock.Now() }()
	s.told.events, s.told.clock = events, s.clock
	for {
		err := s.stretch(ctx, ring)
		if ctx.Err() != nil {
			return s.endedWith(err)
		}
		if err = s.mend(ctx, err); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, capture.ErrFormatChanged) {
				return err
			}
			return fmt.Errorf("%s: %w", s.uri, err)
		}
	}
}

// endedWith returns the part of a stretch's error that matters when the recording was to end: an
// error of the end itself.
func (s *source) endedWith(err error) error {
	if failed := (releaseError{}); errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", s.uri, failed)
	}
	return nil
}

// Renegotiate settles on what the signal is now.
func (s *source) Renegotiate(ctx context.Context, events func(timeline.Event)) error {
	if s.bell == nil {
		return errors.New(s.uri + ": the source is closed")
	}
	defer s.bell.ringAtEnd(ctx)()
	defer func() { s.ended = s.clock.Now() }()
	s.told.events, s.told.clock = events, s.clock
	s.followed = true
	before := s.info
	found, err := s.settle(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", s.uri, err)
	}
	s.count.changed()
	if err := s.adopt(found); err != nil {
		return err
	}
	s.told.formatChanged(before, s.info)
	s.told.emit("signal described", s.info.Metadata[0].Value)
	return nil
}

// Counted implements capture.Counter.
func (s *source) Counted() (last uint64, why frame.Cause, any bool) { return s.count.counted(s.ended) }
