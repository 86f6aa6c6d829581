package certify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/shm"
	"github.com/jezek/xgb/xproto"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// x11Output is a window over all others on an X display, without decoration and without a pointer
// over it. Pictures go to it through shared memory.
type x11Output struct {
	mode   Mode
	conn   *xgb.Conn
	window xproto.Drawable
	gc     xproto.Gcontext
	depth  byte
	seg    shm.Seg
	mem    []byte
	clock  timeline.Clock
}

func openX11Output(uri, target string, query url.Values, o OutputOptions) (Output, error) {
	if err := frame.CheckParams("x11", query, "region"); err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrOutput, uri, err)
	}
	var region frame.Region
	if query.Has("region") {
		var err error
		if region, err = frame.ParseRegion(query.Get("region")); err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrOutput, uri, err)
		}
		if err := CheckSize(region.Width, region.Height); err != nil {
			return nil, fmt.Errorf("%w %q: region: %w", ErrOutput, uri, err)
		}
		if o.Width > 0 {
			return nil, fmt.Errorf("%w %q: its region says how much is played, give that or --size", ErrOutput, uri)
		}
	}
	// The library logs a missing authority file to stderr; relevant errors are returned.
	xgb.Logger.SetOutput(io.Discard)
	conn, err := xgb.NewConnDisplay(target)
	if err != nil {
		return nil, fmt.Errorf("connect to display %s to play on it: %w", target, err)
	}
	x := &x11Output{conn: conn, clock: timeline.Monotonic()}
	if err := x.open(uri, target, region, o); err != nil {
		x.Close()
		return nil, fmt.Errorf("play on display %s: %w", target, err)
	}
	return x, nil
}

func (x *x11Output) open(uri, target string, region frame.Region, o OutputOptions) error {
	setup := xproto.Setup(x.conn)
	screen := setup.DefaultScreen(x.conn)
	width, height := int(screen.WidthInPixels), int(screen.HeightInPixels)
	switch {
	case region == (frame.Region{}) && o.Width > 0:
		region = frame.Region{Width: o.Width, Height: o.Height}
	case region == (frame.Region{}):
		region = frame.Region{Width: width, Height: height}
	}
	if !region.In(width, height) {
		return fmt.Errorf("%v does not lie on the screen, which is %dx%d", region, width, height)
	}
	if err := checkPixels(setup, screen); err != nil {
		return err
	}
	if err := x.share(region.Width * region.Height * 4); err != nil {
		return err
	}
	x.mode = Mode{
		URI: uri, Name: fmt.Sprintf("%s, release %d", setup.Vendor, setup.ReleaseNumber),
		Width: region.Width, Height: region.Height, Period: o.Period, Latch: x.latch(target, o.Source),
	}
	if x.mode.Period.Den == 0 {
		x.mode.Period = drifting(o.Source.Period)
	}
	x.depth = screen.RootDepth
	return x.openWindow(screen, region)
}

// drifting is a period a little longer than the source's: two pictures less in three seconds. The
// output and the source have no common clock. At the same rate they might stay in one phase,
// between two pictures. Then times could not decide which of the two should have been seen. With a
// longer period, pictures move slowly through all phases, which also bounds the delay closely.
func drifting(p capture.Rational) capture.Rational {
	if p.Den == 0 {
		p = defaultPeriod()
	}
	if p.Den < 4*p.Num { // slower than four a second
		return capture.Rational{Num: p.Num * 6, Den: p.Den * 5}
	}
	return capture.Rational{Num: 3 * p.Num, Den: 3*p.Den - 2*p.Num}
}

// latch is how long an old picture may still be sent after a new one was drawn. A source that reads
// the same server's memory sees the new one at once. A display is fed at its own rate, which is
// assumed to be the source's.
func (x *x11Output) latch(target string, source capture.Info) time.Duration {
	before, _, _ := strings.Cut(source.URI, "?")
	if before == "x11:"+target || before == "x11" {
		return 0
	}
	p := source.Period
	if p.Den == 0 {
		p = defaultPeriod()
	}
	return p.Duration(1)
}

// checkPixels says why the screen's pixels are not B G R X in memory, or nil.
func checkPixels(setup *xproto.SetupInfo, screen *xproto.ScreenInfo) error {
	bits := byte(0)
	for _, f := range setup.PixmapFormats {
		if f.Depth == screen.RootDepth {
			bits = f.BitsPerPixel
		}
	}
	for _, d := range screen.AllowedDepths {
		for _, v := range d.Visuals {
			if v.VisualId == screen.RootVisual && bits == 32 && setup.ImageByteOrder == xproto.ImageOrderLSBFirst &&
				v.RedMask == 0xff0000 && v.GreenMask == 0xff00 && v.BlueMask == 0xff {
				return nil
			}
		}
	}
	return fmt.Errorf("the screen has %d bits a pixel and a depth of %d, want 24 bits of colour as B G R X", bits,
		screen.RootDepth)
}

// share makes the memory that pictures are put through. No name of it is left when it returns.
func (x *x11Output) share(size int) error {
	const name = "MIT-SHM"
	// Not shm.Init, which writes to maps of the whole process while other connections read them.
	r, err := xproto.QueryExtension(x.conn, uint16(len(name)), name).Reply()
	if err != nil {
		return fmt.Errorf("ask for shared memory: %w", err)
	}
	if !r.Present {
		return errors.New("the X server has no shared memory (MIT-SHM)")
	}
	x.conn.ExtLock.Lock()
	x.conn.Extensions[name] = r.MajorOpcode
	x.conn.ExtLock.Unlock()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600)
	if err != nil {
		return fmt.Errorf("get %d bytes of shared memory: %w", size, err)
	}
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if x.mem, err = unix.SysvShmAttach(id, 0, 0); err != nil {
		return fmt.Errorf("attach shared memory: %w", err)
	}
	if x.seg, err = shm.NewSegId(x.conn); err != nil {
		return err
	}
	if err := shm.AttachChecked(x.conn, x.seg, uint32(id), false).Check(); err != nil {
		return fmt.Errorf("share memory with the X server: %w; run both as one user, in one container", err)
	}
	return nil
}

func (x *x11Output) openWindow(screen *xproto.ScreenInfo, r frame.Region) error {
	window, err := xproto.NewWindowId(x.conn)
	if err != nil {
		return err
	}
	cursor, err := x.noCursor(screen)
	if err != nil {
		return fmt.Errorf("hide the pointer: %w", err)
	}
	const what = xproto.CwBackPixel | xproto.CwOverrideRedirect | xproto.CwCursor
	values := []uint32{screen.BlackPixel, 1, uint32(cursor)}
	err = xproto.CreateWindowChecked(x.conn, screen.RootDepth, window, screen.Root, int16(r.X), int16(r.Y),
		uint16(r.Width), uint16(r.Height), 0, xproto.WindowClassInputOutput, screen.RootVisual, what, values).Check()
	if err != nil {
		return fmt.Errorf("create a window: %w", err)
	}
	x.window = xproto.Drawable(window)
	if x.gc, err = xproto.NewGcontextId(x.conn); err != nil {
		return err
	}
	if err := xproto.CreateGCChecked(x.conn, x.gc, x.window, 0, nil).Check(); err != nil {
		return fmt.Errorf("create a graphics context: %w", err)
	}
	if err := xproto.MapWindowChecked(x.conn, window).Check(); err != nil {
		return fmt.Errorf("show the window: %w", err)
	}
	// No window manager holds an override-redirect window back, so it can be drawn on from now on.
	above := []uint32{xproto.StackModeAbove}
	if err := xproto.ConfigureWindowChecked(x.conn, window, xproto.ConfigWindowStackMode, above).Check(); err != nil {
		return fmt.Errorf("put the window over all others: %w", err)
	}
	return nil
}

// noCursor makes a pointer of no pixels.
func (x *x11Output) noCursor(screen *xproto.ScreenInfo) (xproto.Cursor, error) {
	pixmap, err := xproto.NewPixmapId(x.conn)
	if err != nil {
		return 0, err
	}
	cursor, err := xproto.NewCursorId(x.conn)
	if err != nil {
		return 0, err
	}
	if err := xproto.CreatePixmapChecked(x.conn, 1, pixmap, xproto.Drawable(screen.Root), 1, 1).Check(); err != nil {
		return 0, err
	}
	defer xproto.FreePixmap(x.conn, pixmap)
	gc, err := xproto.NewGcontextId(x.conn)
	if err != nil {
		return 0, err
	}
	if err := xproto.CreateGCChecked(x.conn, gc, xproto.Drawable(pixmap), xproto.GcForeground,
		[]uint32{0}).Check(); err != nil {
		return 0, err
	}
	defer xproto.FreeGC(x.conn, gc)
	// Pixmaps begin with old memory.
	if err := xproto.PolyFillRectangleChecked(x.conn, xproto.Drawable(pixmap), gc,
		[]xproto.Rectangle{{Width: 1, Height: 1}}).Check(); err != nil {
		return 0, err
	}
	return cursor, xproto.CreateCursorChecked(x.conn, cursor, pixmap, pixmap, 0, 0, 0, 0, 0, 0, 0, 0).Check()
}

func (x *x11Output) Mode() Mode { return x.mode }

// Show draws a picture. The server does so at some moment between the request and its answer.
func (x *x11Output) Show(_ context.Context, picture []byte) (timeline.Interval, error) {
	if len(picture) > len(x.mem) {
		return timeline.Interval{}, fmt.Errorf("a picture of %d bytes does not fit into %d", len(picture), len(x.mem))
	}
	copy(x.mem, picture)
	w, h := uint16(x.mode.Width), uint16(x.mode.Height)
	before := x.clock.Now()
	err := shm.PutImageChecked(x.conn, x.window, x.gc, w, h, 0, 0, w, h, 0, 0, x.depth, xproto.ImageFormatZPixmap, 0,
		x.seg, 0).Check()
	when := timeline.Interval{Earliest: before, Latest: x.clock.Now()}
	if err != nil {
		return when, fmt.Errorf("put a picture on %s: %w", x.mode.URI, err)
	}
	return when, nil
}

// Close takes the window away and gives the memory back.
func (x *x11Output) Close() error {
	if x.conn == nil {
		return nil
	}
	x.conn.Close()
	for { // the library's goroutines end with its last event
		if e, err := x.conn.WaitForEvent(); e == nil && err == nil {
			break
		}
	}
	x.conn = nil
	if x.mem == nil {
		return nil
	}
	mem := x.mem
	x.mem = nil
	return unix.SysvShmDetach(mem)
}
