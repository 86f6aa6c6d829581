package x11

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/shm"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// grabber takes pictures of one region of a screen.
//
// Its two requests are written by hand and reuse their cookies. The library's own calls allocate a
// request, a cookie, four channels and a reply each time. The library's envelope around each
// request and the buffer of its reply remain.
type grabber struct {
	c      *connection
	region frame.Region
	seg    *segment

	image, cursor *request // cursor is nil where it is left out
}

type request struct {
	bytes  []byte
	cookie *xgb.Cookie
}

func (g *grabber) newRequest(b []byte) *request {
	return &request{b, g.c.NewCookie(true, true)}
}

func newGrabber(c *connection, region frame.Region, cursor bool) (*grabber, error) {
	g := &grabber{c: c, region: region}
	shmOpcode, err := c.extension("MIT-SHM")
	if err != nil {
		return nil, err
	}
	if _, err := shm.QueryVersion(c.Conn).Reply(); err != nil {
		return nil, fmt.Errorf("ask for shared memory: %w", err)
	}
	if g.seg, err = newSegment(c.Conn, region.Width*region.Height*4); err != nil {
		return nil, err
	}
	g.image = g.newRequest(getImage(shmOpcode, c.screen.Root, region, g.seg.id))
	if cursor {
		opcode, err := c.extension("XFIXES")
		if err == nil {
			_, err = xfixes.QueryVersion(c.Conn, 2, 0).Reply() // until then its requests are refused
		}
		if err != nil {
			g.seg.close()
			return nil, fmt.Errorf("read the cursor's picture: %w; omit the cursor with cursor=0", err)
		}
		g.cursor = g.newRequest([]byte{opcode, 4, 1, 0}) // GetCursorImage has no parameters
	}
	return g, nil
}

// extension makes an extension's requests available to the library and returns its opcode.
//
// Note: the library's Init was rejected. It writes to maps of the whole process while goroutines of
// other connections read them. So two sources at once could end the program. Init adds the
// extension's own events and errors, which the requests here do not cause.
func (c *connection) extension(name string) (byte, error) {
	r, err := xproto.QueryExtension(c.Conn, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, fmt.Errorf("ask for the extension %s: %w", name, err)
	}
	if !r.Present {
		return 0, fmt.Errorf("the X server has no extension %s", name)
	}
	c.ExtLock.Lock()
	c.Extensions[name] = r.MajorOpcode
	c.ExtLock.Unlock()
	return r.MajorOpcode, nil
}

// getImage is the request ShmGetImage (shmproto.h), for all planes as a Z pixmap, to the segment's
// beginning.
func getImage(opcode byte, from xproto.Window, r frame.Region, seg shm.Seg) []byte {
	const minor, words = 4, 8
	b := []byte{opcode, minor, words, 0}
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(from))
	for _, v := range []int{r.X, r.Y, r.Width, r.Height} {
		b = le.AppendUint16(b, uint16(v))
	}
	b = le.AppendUint32(b, ^uint32(0))
	b = append(b, xproto.ImageFormatZPixmap, 0, 0, 0)
	b = le.AppendUint32(b, uint32(seg))
	return le.AppendUint32(b, 0)
}

// grab takes a picture: its bytes, which stay until the next one, and the cursor.
func (g *grabber) grab() (pix []byte, cursor cursorImage, err error) {
	// Both are on their way before the first reply is awaited, so that the server handles them back
	// to back.
	if g.cursor != nil {
		g.c.NewRequest(g.cursor.bytes, g.cursor.cookie)
	}
	g.c.NewRequest(g.image.bytes, g.image.cookie)
	if g.cursor != nil {
		reply, err := g.cursor.cookie.Reply()
		if err != nil && !isX[xproto.CursorError](err) { // there is none at the moment
			return nil, cursorImage{}, g.explain(err)
		}
		cursor, _ = parseCursor(reply)
	}
	if _, err := g.image.cookie.Reply(); err != nil {
		return nil, cursorImage{}, g.explain(err)
	}
	return g.seg.mem[:g.region.Width*g.region.Height*4], cursor, nil
}

func isX[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// explain says what an error of a request for a picture means.
func (g *grabber) explain(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the X server ended: %w", io.ErrUnexpectedEOF)
	case isX[xproto.MatchError](err):
		geo, err := xproto.GetGeometry(g.c.Conn, xproto.Drawable(g.c.screen.Root)).Reply()
		if err == nil {
			return g.resized(int(geo.Width), int(geo.Height))
		}
	}
	return fmt.Errorf("take a picture of %v: %w", g.region, err)
}

func (g *grabber) resized(width, height int) error {
	return fmt.Errorf("%w from %dx%d to %dx%d; start again, a recording has one size", errResized,
		g.c.screen.WidthInPixels, g.c.screen.HeightInPixels, width, height)
}

// watch asks to be told when the screen's size changes.
func (g *grabber) watch() error {
	return xproto.ChangeWindowAttributesChecked(g.c.Conn, g.c.screen.Root, xproto.CwEventMask,
		[]uint32{xproto.EventMaskStructureNotify}).Check()
}

// sizeChange reads the pending events. It reports a size that no longer fits the captured region.
func (g *grabber) sizeChange() error {
	for {
		e, xerr := g.c.PollForEvent()
		if e == nil && xerr == nil {
			return nil
		}
		c, ok := e.(xproto.ConfigureNotifyEvent)
		if !ok || c.Window != g.c.screen.Root {
			continue
		}
		was := frame.Region{Width: int(g.c.screen.WidthInPixels), Height: int(g.c.screen.HeightInPixels)}
		now := frame.Region{Width: int(c.Width), Height: int(c.Height)}
		if now != was && (g.region == was || !g.region.In(now.Width, now.Height)) {
			return g.resized(now.Width, now.Height)
		}
	}
}

// checkPixels says why a screen's pixels are not B G R X in memory, or nil.
func (c *connection) checkPixels() error {
	s := c.screen
	var depths []string
	var visual xproto.VisualInfo
	for _, d := range s.AllowedDepths {
		depths = append(depths, fmt.Sprint(d.Depth))
		for _, v := range d.Visuals {
			if v.VisualId == s.RootVisual {
				visual = v
			}
		}
	}
	bits, pad := byte(0), byte(0)
	for _, f := range c.setup.PixmapFormats {
		if f.Depth == s.RootDepth {
			bits, pad = f.BitsPerPixel, f.ScanlinePad
		}
	}
	if (s.RootDepth == 24 || s.RootDepth == 32) && bits == 32 && pad <= 32 &&
		c.setup.ImageByteOrder == xproto.ImageOrderLSBFirst &&
		visual.RedMask == 0xff0000 && visual.GreenMask == 0xff00 && visual.BlueMask == 0xff {
		return nil
	}
	order := "least"
	if c.setup.ImageByteOrder != xproto.ImageOrderLSBFirst {
		order = "most"
	}
	return fmt.Errorf("only depth 24 or 32 in B G R X is captured; the screen has depth %d with %d bits a pixel, "+
		"%s significant byte first, red %#x, green %#x, blue %#x; the server has depths %s: start it with depth 24",
		s.RootDepth, bits, order, visual.RedMask, visual.GreenMask, visual.BlueMask, strings.Join(depths, " "))
}
