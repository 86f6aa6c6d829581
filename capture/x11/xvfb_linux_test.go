package x11

import (
	"bufio"
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/ringbuf"
	"github.com/jezek/xgb/xproto"
)

// xvfb is an X server of the test's own.
type xvfb struct {
	display string
	cmd     *exec.Cmd
}

// startServer starts Xvfb on a display that it picks itself, and stops it with the test.
func startServer(t testing.TB, screen string, extra ...string) *xvfb {
	t.Helper()
	if _, err := exec.LookPath("Xvfb"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs Xvfb: ", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("Xvfb",
		append([]string{"-displayfd", "3", "-screen", "0", screen, "-nolisten", "tcp", "-noreset"}, extra...)...)
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // should the test crash
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := &xvfb{cmd: cmd}
	t.Cleanup(s.stop)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		s.stop()
		t.Fatalf("Xvfb did not start: %v\n%s", err, &stderr)
	}
	s.display = ":" + strings.TrimSpace(line)
	return s
}

// stop lets the server go in peace: one that is killed leaves its socket and its lock behind.
func (s *xvfb) stop() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
		s.cmd.Wait()
		late.Stop()
	}
}

// client draws on the server's screen.
type client struct {
	t testing.TB
	*connection
	gc xproto.Gcontext
}

func (s *xvfb) client(t testing.TB) *client {
	t.Helper()
	a, err := parseDisplay(s.display)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	gc, err := xproto.NewGcontextId(c.Conn)
	if err != nil {
		t.Fatal(err)
	}
	cl := &client{t, c, gc}
	// Windows may lie on the root window; draw over them.
	cl.check(xproto.CreateGCChecked(c.Conn, gc, xproto.Drawable(c.screen.Root), xproto.GcSubwindowMode,
		[]uint32{xproto.SubwindowModeIncludeInferiors}).Check())
	return cl
}

func (c *client) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// picture puts 4-byte pixels on the whole screen, in strips that fit into a request.
func (c *client) picture(pix []byte) {
	c.t.Helper()
	width, height := int(c.screen.WidthInPixels), int(c.screen.HeightInPixels)
	rows := max(1, 200_000/(width*4))
	for y := 0; y < height; y += rows {
		n := min(rows, height-y)
		c.check(xproto.PutImageChecked(c.Conn, xproto.ImageFormatZPixmap, xproto.Drawable(c.screen.Root), c.gc,
			uint16(width), uint16(n), 0, int16(y), 0, c.screen.RootDepth, pix[y*width*4:(y+n)*width*4]).Check())
	}
}

func (c *client) fill(colour uint32, x, y, width, height int) {
	c.t.Helper()
	xproto.ChangeGC(c.Conn, c.gc, xproto.GcForeground, []uint32{colour})
	c.check(xproto.PolyFillRectangleChecked(c.Conn, xproto.Drawable(c.screen.Root), c.gc,
		[]xproto.Rectangle{{X: int16(x), Y: int16(y), Width: uint16(width), Height: uint16(height)}}).Check())
}

// cursor gives the root window a cursor of one colour and moves the pointer. The cursor's hot spot
// is (hotX, hotY).
func (c *client) cursor(size, hotX, hotY, x, y int) {
	c.t.Helper()
	pix, err := xproto.NewPixmapId(c.Conn)
	c.check(err)
	c.check(xproto.CreatePixmapChecked(c.Conn, 1, pix, xproto.Drawable(c.screen.Root), uint16(size),
		uint16(size)).Check())
	gc, err := xproto.NewGcontextId(c.Conn)
	c.check(err)
	c.check(xproto.CreateGCChecked(c.Conn, gc, xproto.Drawable(pix), xproto.GcForeground, []uint32{1}).Check())
	c.check(xproto.PolyFillRectangleChecked(c.Conn, xproto.Drawable(pix), gc,
		[]xproto.Rectangle{{Width: uint16(size), Height: uint16(size)}}).Check())
	id, err := xproto.NewCursorId(c.Conn)
	c.check(err)
	c.check(xproto.CreateCursorChecked(c.Conn, id, pix, pix, 0xffff, 0x8080, 0, 0, 0, 0, uint16(hotX),
		uint16(hotY)).Check())
	c.check(xproto.ChangeWindowAttributesChecked(c.Conn, c.screen.Root, xproto.CwCursor, []uint32{uint32(id)}).Check())
	c.check(xproto.WarpPointerChecked(c.Conn, 0, c.screen.Root, 0, 0, 0, 0, int16(x), int16(y)).Check())
}

func query(t testing.TB, s string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (s *xvfb) open(t testing.TB, params string) *source {
	t.Helper()
	src, err := Open(s.display, query(t, params))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return src.(*source)
}

func newRing(t testing.TB, slots, size int) *capture.Ring {
	t.Helper()
	ring, err := ringbuf.New[frame.Meta](make([]byte, ringbuf.BytesFor(slots, size)+ringbuf.Alignment), size)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
