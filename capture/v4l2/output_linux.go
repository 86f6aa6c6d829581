//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/blackjack/webcam/ioctl"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// typeOutput is V4L2_BUF_TYPE_VIDEO_OUTPUT, videodev2.h.
const typeOutput = 2

// vidiocGDVTimings is VIDIOC_G_DV_TIMINGS, videodev2.h.
var vidiocGDVTimings = vidioc(ioctl.IoRW, 88, unsafe.Sizeof(dvTimings{}))

// Output is a node that sends video: what a source is connected to when it is certified. It is used
// by one goroutine. Only the single-planar API and buffers mapped from the driver are used.
type Output struct {
	file   *file
	path   string
	info   OutputInfo
	layout *frame.Layout
	mem    [][]byte
	free   []int // buffers that the driver does not have
	on     bool
	clock  timeline.Clock
	arg    buffer
}

// OutputInfo describes an output.
type OutputInfo struct {
	Driver, Card, Bus string
	Format            frame.Format
	Period            capture.Rational // from frame to frame
}

// outputBuffers are enough for one that is shown, one that waits, and one to fill.
const outputBuffers = 3

// OpenOutput opens an output in its current mode. If a size is given, it uses the first DV timings
// of that size.
func OpenOutput(path string, width, height int) (*Output, error) {
	f, err := openNode(path)
	if err != nil {
		return nil, err
	}
	o := &Output{file: f, path: path, clock: timeline.Monotonic()}
	if err := o.open(width, height); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Output) open(width, height int) error {
	d := &device{node: o.file, path: o.path}
	if err := d.identify(); err != nil {
		return err
	}
	o.info.Driver, o.info.Card, o.info.Bus = d.driver, d.card, d.bus
	if d.caps&capVideoOutput == 0 || d.caps&capStreaming == 0 {
		return fmt.Errorf("%s (%s) is %s, not one that sends video", o.path, d.card, kindOf(d.caps))
	}
	if err := o.setTimings(width, height); err != nil {
		return err
	}
	if err := o.setFormat(); err != nil {
		return err
	}
	return o.mapBuffers()
}

// setTimings chooses the mode, and learns its period.
func (o *Output) setTimings(width, height int) error {
	t := new(dvTimings)
	if err := o.file.ioctl(vidiocGDVTimings, unsafe.Pointer(t)); err != nil {
		return fmt.Errorf("read the mode of %s: %w; only outputs with DV timings (HDMI, DVI) can play", o.path,
			err)
	}
	if width > 0 {
		var err error
		if t, err = o.findTimings(width, height); err != nil {
			return err
		}
		if err := o.file.ioctl(vidiocSDVTimings, unsafe.Pointer(t)); err != nil {
			return fmt.Errorf("set %s to %dx%d: %w", o.path, width, height, err)
		}
	}
	mode, err := t.decode()
	if err != nil {
		return fmt.Errorf("mode of %s: %w", o.path, err)
	}
	o.info.Period = mode.Period
	return nil
}

func (o *Output) findTimings(width, height int) (*dvTimings, error) {
	for i := range uint32(maxEnum) {
		e := &enumDVTimings{index: i}
		if err := o.file.ioctl(vidiocEnumDVTimings, unsafe.Pointer(e)); err != nil {
			break
		}
		if b := e.timings.bt; int(b.width) == width && int(b.height) == height && b.interlaced == 0 {
			return &e.timings, nil
		}
	}
	return nil, fmt.Errorf("%s has no progressive mode of %dx%d", o.path, width, height)
}

// setFormat takes the first format of 32 bits a pixel, RGB, that the driver takes as it is.
func (o *Output) setFormat() error {
	f := &formatSingle{typ: typeOutput}
	if err := o.file.ioctl(vidiocGFmt, unsafe.Pointer(f)); err != nil {
		return fmt.Errorf("read the format of %s: %w", o.path, err)
	}
	for _, p := range []frame.PixelFormat{frame.BGR4, frame.XR24, frame.BGR3, frame.RGB3, frame.YUYV} {
		want := *f
		want.pix.pixelformat, want.pix.bytesperline, want.pix.sizeimage, want.pix.field = uint32(p), 0, 0, fieldNone
		got := want
		if err := o.file.ioctl(vidiocSFmt, unsafe.Pointer(&got)); err != nil {
			if errors.Is(err, unix.EBUSY) {
				return fmt.Errorf("set the format of %s: %w%s", o.path, ErrBusy, heldBy(o.path))
			}
			continue
		}
		if got.pix.pixelformat != uint32(p) {
			continue
		}
		format, err := frame.NewFormat(p, int(got.pix.width), int(got.pix.height))
		if err != nil {
			return fmt.Errorf("format of %s: %w", o.path, err)
		}
		format.Stride = int(got.pix.bytesperline)
		if o.layout, err = frame.NewLayout(format); err != nil {
			return fmt.Errorf("format of %s: %w", o.path, err)
		}
		o.info.Format = format
		return nil
	}
	return fmt.Errorf("%s supports none of BGR4, XR24, BGR3, RGB3 and YUYV", o.path)
}

func (o *Output) mapBuffers() error {
	r := &requestbuffers{count: outputBuffers, typ: typeOutput, memory: memoryMMAP}
	if err := o.file.ioctl(vidiocReqbufs, unsafe.Pointer(r)); err != nil {
		return fmt.Errorf("get buffers from %s: %w", o.path, err)
	}
	if r.count < outputBuffers || r.count > 32 {
		return fmt.Errorf("%s gives %d buffers, want %d", o.path, r.count, outputBuffers)
	}
	for i := range int(r.count) {
		o.arg = buffer{index: uint32(i), typ: typeOutput, memory: memoryMMAP}
		if err := o.file.ioctl(vidiocQuerybuf, unsafe.Pointer(&o.arg)); err != nil {
			return fmt.Errorf("query %s: buffer %d: %w", o.path, i, err)
		}
		if n := int(o.arg.length); n < o.layout.Size || n > frame.MaxBytes {
			return fmt.Errorf("%s has a buffer of %d bytes for frames of %d", o.path, n, o.layout.Size)
		}
		mem, err := o.file.mmap(-1, int(o.arg.length), int64(uint32(o.arg.m)))
		if err != nil {
			return fmt.Errorf("map buffer %d of %s: %w", i, o.path, err)
		}
		o.mem = append(o.mem, mem)
		o.free = append(o.free, i)
	}
	return nil
}

// Info describes the output.
func (o *Output) Info() OutputInfo { return o.info }

// Put sends a frame of Info's format after the shown one. It waits until the frame has replaced
// that one, and returns the interval in which that happened. The frame stays until the next Put.
//
// A driver returns a buffer after showing it, when the next buffer takes its place. So the driver
// keeps one buffer, gets a second, and the first comes back.
func (o *Output) Put(ctx context.Context, pix []byte) (timeline.Interval, error) {
	if !o.on {
		// Drivers begin with two.
		if err := o.give(pix); err != nil {
			return timeline.Interval{}, err
		}
	}
	before := o.clock.Now()
	if err := o.give(pix); err != nil {
		return timeline.Interval{}, err
	}
	if !o.on {
		typ := uint32(typeOutput)
		if err := o.file.ioctl(vidiocStreamOn, unsafe.Pointer(&typ)); err != nil {
			return timeline.Interval{}, fmt.Errorf("start %s: %w", o.path, err)
		}
		o.on = true
	}
	stamp, err := o.take(ctx)
	if err != nil {
		return timeline.Interval{}, err
	}
	when := timeline.Interval{Earliest: before, Latest: o.clock.Now()}
	if stamp > when.Earliest && stamp < when.Latest {
		// The place was taken just before the stamp.
		when = timeline.Interval{Earliest: max(before, stamp.Add(-o.info.Period.Duration(1)/4)), Latest: stamp}
	}
	return when, nil
}

func (o *Output) give(pix []byte) error {
	i := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	copy(o.mem[i], pix)
	o.arg = buffer{index: uint32(i), typ: typeOutput, memory: memoryMMAP, field: fieldNone,
		bytesused: uint32(o.layout.Size)}
	if err := o.file.ioctl(vidiocQbuf, unsafe.Pointer(&o.arg)); err != nil {
		return fmt.Errorf("send a frame to %s: %w", o.path, err)
	}
	return nil
}

// take waits for a buffer that has been shown. It returns the driver's stamp, or 0 if the stamp is
// on an unknown clock.
func (o *Output) take(ctx context.Context) (timeline.Time, error) {
	const patience = 5 * time.Second
	end := o.clock.Now().Add(patience)
	for {
		o.arg = buffer{typ: typeOutput, memory: memoryMMAP}
		err := o.file.ioctl(vidiocDqbuf, unsafe.Pointer(&o.arg))
		switch {
		case err == nil && int(o.arg.index) < len(o.mem):
			o.free = append(o.free, int(o.arg.index))
			if o.arg.flags&bufFlagTimestampMask != bufFlagTimestampMonotonic {
				return 0, nil
			}
			return timeline.Time(o.arg.sec*int64(time.Second) + o.arg.usec*int64(time.Microsecond)), nil
		case err == nil:
			return 0, fmt.Errorf("%s gave back buffer %d of %d", o.path, o.arg.index, len(o.mem))
		case !errors.Is(err, unix.EAGAIN):
			return 0, fmt.Errorf("wait for %s to show a frame: %w", o.path, err)
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case o.clock.Now() > end:
			return 0, fmt.Errorf("%s shows no frame for %v", o.path, patience)
		}
		poll := []unix.PollFd{{Fd: int32(o.file.fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(poll, 20); err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("wait for %s: %w", o.path, err)
		}
	}
}

// Close stops the output and gives its buffers back. It is idempotent.
func (o *Output) Close() error {
	var err error
	if o.on {
		o.on = false
		typ := uint32(typeOutput)
		if e := o.file.ioctl(vidiocStreamOff, unsafe.Pointer(&typ)); e != nil && !errors.Is(e, unix.ENODEV) {
			err = fmt.Errorf("stop %s: %w", o.path, e)
		}
	}
	for _, m := range o.mem {
		err = errors.Join(err, o.file.munmap(m))
	}
	if len(o.mem) > 0 {
		r := &requestbuffers{typ: typeOutput, memory: memoryMMAP}
		if e := o.file.ioctl(vidiocReqbufs, unsafe.Pointer(r)); e != nil && !errors.Is(e, unix.ENODEV) {
			err = errors.Join(err, fmt.Errorf("give the buffers of %s back: %w", o.path, e))
		}
	}
	o.mem, o.free = nil, nil
	return errors.Join(err, o.file.close())
}
