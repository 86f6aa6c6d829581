//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// setup is what a device and a signal have been settled on.
type setup struct {
	format  frame.Format
	size    int // bytes of a frame
	driver  format
	period  capture.Rational
	timings *Timings // nil for devices without
	runs    []run    // how a buffer becomes a frame
}

// sameAs reports whether a recording goes on without noticing.
func (s *setup) sameAs(t *setup) bool {
	samePeriod := s.period == t.period || s.period.Num > 0 && t.period.Num > 0 && nearPeriod(s.period, t.period)
	return s.format == t.format && samePeriod && s.driver.fourcc == t.driver.fourcc &&
		slices.Equal(s.driver.planes, t.driver.planes) &&
		s.driver.colour.same(t.driver.colour, s.format.Pixel.IsRGB())
}

// same reports whether two colours are one to the eye: a device may say the same in more than one
// way.
func (c colourNumbers) same(d colourNumbers, rgb bool) bool {
	c, d = c.resolve(rgb), d.resolve(rgb)
	if rgb {
		c.encoding, d.encoding = 0, 0
	}
	return c == d
}

// misfit is a requested or necessary size, format or rate that the signal or device does not have
// now. Open returns it like any other error. During a recording the source waits, since the next
// signal may fit again.
type misfit struct{ error }

func (m misfit) Unwrap() error { return m.error }

func misfitf(format string, args ...any) error { return misfit{fmt.Errorf(format, args...)} }

// run is a piece of a frame that is copied as a whole, or row by row where strides differ.
type run struct {
	plane  int // of memory
	src    int // bytes from the start of the plane's data
	dst    int // bytes from the start of the frame
	rows   int
	stride int // of the source
	width  int // bytes from row to row of the frame
	seen   int // bytes of a row that are pixels
}

// multiPlane says which formats of several memory planes hold what a format of one plane does:
// videodev2.h, V4L2_PIX_FMT_*. It is never written to.
var multiPlane = map[string]string{
	"NM12": "NV12", "NM16": "NV16", "NM24": "NV24", "YM12": "YU12", "YM16": "422P", "YM24": "444P",
}

// storedAs returns what a driver's format is stored as.
func storedAs(fourcc uint32) (frame.PixelFormat, bool) {
	p := frame.PixelFormat(fourcc)
	if p == frame.P444 {
		return 0, false // V4L2 has no such format; the number is a driver's own
	}
	if single, ok := multiPlane[p.String()]; ok {
		if q, err := frame.ParsePixelFormat(single); err == nil {
			return q, true
		}
	}
	return p, p.Known()
}

// negotiate sets the device to what the signal is, which must be there, and to a pixel format. The
// queue must be free.
func (d *device) negotiate(set settings) (*setup, error) {
	s := new(setup)
	t, err := d.setTimings()
	if err != nil {
		return nil, err
	}
	if s.timings = t; t != nil {
		s.period = t.Period
	}
	fourcc, err := d.choose(set.fourcc)
	if err != nil {
		return nil, err
	}
	width, height, err := d.pictureSize(set, s.timings)
	if err != nil {
		return nil, err
	}
	if s.driver, err = d.setFormat(fourcc, width, height); err != nil {
		return nil, d.refused(fourcc, err)
	}
	if err := d.checkFormat(s.driver, fourcc, width, height); err != nil {
		return nil, err
	}
	if s.timings == nil {
		if s.period, err = d.negotiatePeriod(set, fourcc, width, height); err != nil {
			return nil, err
		}
	}
	if err := s.layOut(); err != nil {
		return nil, misfit{err}
	}
	return s, nil
}

// signalError turns what QUERY_DV_TIMINGS says into words.
func signalError(err error) error {
	switch {
	case errors.Is(err, unix.ENOLINK):
		return errNoSignal
	case errors.Is(err, unix.ENOLCK):
		return errNoLock
	case errors.Is(err, unix.ERANGE):
		return errOutOfRange
	}
	return err
}

// choose returns the driver's pixel format for want: the format of that name, or of several planes
// with the same content. For an empty want it returns the format to which the device is set. If
// that cannot be recorded, it returns the first format in the device's list that can.
func (d *device) choose(want string) (uint32, error) {
	all, err := d.enumFormats()
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		if want != "" && strings.EqualFold(frame.PixelFormat(f.fourcc).String(), want) {
			return f.fourcc, d.recordable(f, all)
		}
	}
	for _, f := range all {
		if want != "" && multiPlane[frame.PixelFormat(f.fourcc).String()] == want {
			return f.fourcc, d.recordable(f, all)
		}
	}
	if want != "" {
		return 0, misfitf("%s has no format %s: it has %s", d.path, want, formatList(all))
	}
	if now, err := d.getFormat(); err == nil {
		if _, ok := storedAs(now.fourcc); ok {
			return now.fourcc, nil
		}
	}
	for _, f := range all {
		if _, ok := storedAs(f.fourcc); ok {
			return f.fourcc, nil
		}
	}
	return 0, d.noneRecordable(all)
}

func (d *device) recordable(f formatDesc, all []formatDesc) error {
	if _, ok := storedAs(f.fourcc); ok {
		return nil
	}
	if f.flags&fmtFlagCompressed != 0 {
		return fmt.Errorf("%w: %v is compressed with loss; %s has %s",
			errUnsupported, frame.PixelFormat(f.fourcc), d.path, formatList(all))
	}
	return fmt.Errorf("%w: unknown format %v (%s); %s has %s",
		errUnsupported, frame.PixelFormat(f.fourcc), f.about, d.path, formatList(all))
}

func (d *device) noneRecordable(all []formatDesc) error {
	compressed := 0
	for _, f := range all {
		if f.flags&fmtFlagCompressed != 0 {
			compressed++
		}
	}
	if len(all) > 0 && compressed == len(all) {
		return fmt.Errorf("%w: %s (%s) only delivers lossy formats (%s); use a card or port with uncompressed formats",
			errUnsupported, d.path, d.card, formatList(all))
	}
	return fmt.Errorf("%w: no recordable format in %s (%s), which has %s", errUnsupported, d.path, d.card,
		formatList(all))
}

func formatList(all []formatDesc) string {
	var names []string
	for _, f := range all {
		name := frame.PixelFormat(f.fourcc).String()
		if f.flags&fmtFlagEmulated == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// pictureSize returns the size to ask for: the signal's, else the one wanted, else what the device
// is set to.
func (d *device) pictureSize(set settings, t *Timings) (width, height int, err error) {
	switch {
	case t != nil && set.width != 0 && (set.width != t.Width || set.height != t.Height):
		return 0, 0, misfitf("the signal at %s is %v: pictures cannot be scaled to %dx%d; leave size= out",
			d.path, *t, set.width, set.height)
	case t != nil:
		return t.Width, t.Height, nil
	case set.width != 0:
		return set.width, set.height, nil
	}
	now, err := d.getFormat()
	return now.width, now.height, err
}

// refused adds to a format that the driver does not take what it has.
func (d *device) refused(fourcc uint32, err error) error {
	if errors.Is(err, unix.EINVAL) {
		return misfitf("%w; it has %s", err, d.sizeList(fourcc))
	}
	return err
}

// checkFormat refuses what a driver made of a format other than what it was asked for.
func (d *device) checkFormat(got format, fourcc uint32, width, height int) error {
	switch {
	case got.fourcc != fourcc:
		return misfitf("%s was asked for %v and gives %v: it does not have it in %dx%d", d.path,
			frame.PixelFormat(fourcc), frame.PixelFormat(got.fourcc), width, height)
	case got.width != width || got.height != height:
		return misfitf("%s was asked for %dx%d and gives %dx%d, cut or scaled, which is not recorded; in %v it has %s",
			d.path, width, height, got.width, got.height, frame.PixelFormat(fourcc), d.sizeList(fourcc))
	case got.field != fieldNone:
		return fmt.Errorf("%w: %s delivers fields (%s), not whole frames; set the device to a progressive mode",
			errUnsupported, d.path, fieldName(got.field))
	}
	return nil
}

// fieldName names enum v4l2_field.
func fieldName(f uint32) string {
	return nameIn([]string{"any", "none", "top", "bottom", "interlaced", "seq-tb", "seq-bt", "alternate",
		"interlaced-tb", "interlaced-bt"}, f)
}

// negotiatePeriod sets the frame rate of a device whose signal does not say it.
func (d *device) negotiatePeriod(set settings, fourcc uint32, width, height int) (capture.Rational, error) {
	if set.period.Num == 0 {
		return d.getPeriod(), nil
	}
	got, err := d.setPeriod(set.period)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
		return got, misfit{err}
	case err != nil:
		return got, err
	}
	if got.Num == 0 || !nearPeriod(got, set.period) {
		return got, misfitf("%s was asked for %s frames a second and gives %s; in %dx%d %v it has %s", d.path,
			rateString(set.period), rateString(got),
			width, height, frame.PixelFormat(fourcc), d.rateList(fourcc, width, height))
	}
	return got, nil
}

// layOut finds the frame format for the driver's bytes, and how buffers are copied into it.
func (s *setup) layOut() error {
	d := s.driver
	pixel, _ := storedAs(d.fourcc)
	f, err := frame.NewFormat(pixel, d.width, d.height)
	if err != nil {
		return err
	}
	if d.planes[0].stride != 0 { // some drivers report 0 for no padding
		f.Stride = d.planes[0].stride
	}
	if err := d.colour.apply(&f); err != nil {
		return err
	}
	if err := f.Validate(); err != nil {
		return fmt.Errorf("the driver's format %dx%d %v: %w", d.width, d.height, frame.PixelFormat(d.fourcc), err)
	}
	planes := f.Planes()
	if len(planes) == 3 && f.Stride%2 != 0 && planes[1].Stride*2 != f.Stride && planes[1].Stride != f.Stride {
		return fmt.Errorf("%w: rows of %d bytes, which %v cannot halve for its chroma", errUnsupported, f.Stride, pixel)
	}
	s.format, s.size = f, f.Size()
	if len(d.planes) == 1 {
		s.runs = []run{wholeFrame(f)}
	} else if s.runs, err = gather(d, planes); err != nil {
		return err
	}
	return s.fits()
}

// wholeFrame copies a frame that is in one piece of memory.
func wholeFrame(f frame.Format) run {
	planes := f.Planes()
	last := planes[len(planes)-1]
	// One row as long as the frame: of the last row's padding a driver may have none.
	return run{rows: 1, stride: f.Size(), width: f.Size(), seen: f.Size() - last.Stride + last.RowBytes}
}

// gather copies a frame whose planes lie apart.
func gather(d format, planes []frame.Plane) ([]run, error) {
	if len(planes) != len(d.planes) {
		return nil, fmt.Errorf("%w: %v has %d memory pieces, but %d planes", errUnsupported,
			frame.PixelFormat(d.fourcc), len(d.planes), len(planes))
	}
	var runs []run
	for i, p := range planes {
		stride := d.planes[i].stride
		if stride == 0 {
			stride = p.Stride
		}
		if stride < p.RowBytes {
			return nil, fmt.Errorf("%w: plane %d has rows of %d bytes, which hold less than %d", errUnsupported, i,
				stride, p.RowBytes)
		}
		r := run{plane: i, dst: p.Offset, rows: p.Rows, stride: stride, width: p.Stride, seen: p.RowBytes}
		if stride == p.Stride {
			r = run{plane: i, dst: p.Offset, rows: 1, stride: p.Stride * p.Rows, width: p.Stride * p.Rows,
				seen: p.Stride*(p.Rows-1) + p.RowBytes}
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// fits checks that the copied bytes are inside the driver's buffers.
func (s *setup) fits() error {
	for _, r := range s.runs {
		if need, have := r.src+r.stride*(r.rows-1)+r.seen, s.driver.planes[r.plane].bytes; need > have {
			return fmt.Errorf("the driver's buffers of %d bytes do not hold the %d of %v", have, need, s.format)
		}
	}
	return nil
}

// copyFrame puts a buffer's planes into a frame, and reports whether they held it all. What they
// did not is 0.
func (s *setup) copyFrame(dst []byte, planes [][]byte) (whole bool) {
	whole = true
	for i := range s.runs {
		r := &s.runs[i]
		src := planes[r.plane]
		for y := range r.rows {
			to := dst[r.dst+y*r.width:][:r.width]
			from := src[min(r.src+y*r.stride, len(src)):]
			n := copy(to, from[:min(len(from), r.width, r.stride)])
			if n < r.seen {
				whole = false
			}
			clear(to[n:])
		}
	}
	return whole
}
