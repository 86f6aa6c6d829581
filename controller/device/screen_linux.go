package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// screen is a connection to an X display as its caretaker.
type screen struct {
	conn          *xgb.Conn
	root          xproto.Window
	width, height int
}

func openScreen(display string) (*screen, error) {
	// The library logs a missing authority file to stderr; it is missing on purpose.
	xgb.Logger.SetOutput(io.Discard)
	c, err := xgb.NewConnDisplay(display)
	if err != nil {
		return nil, fmt.Errorf("connect to display %s: %w", display, err)
	}
	s := xproto.Setup(c).DefaultScreen(c)
	return &screen{c, s.Root, int(s.WidthInPixels), int(s.HeightInPixels)}, nil
}

func (s *screen) close() { s.conn.Close() }

// onlyThisUser makes the display accept connections from this user's processes only. The server
// asks the kernel for the user at the other end of its socket, so no cookie is necessary. Families
// and values are as in the X server's access control ("SI:localuser:#0").
func (s *screen) onlyThisUser() error {
	hosts, err := xproto.ListHosts(s.conn).Reply()
	if err != nil {
		return fmt.Errorf("list users of the display: %w", err)
	}
	me := []byte(fmt.Sprintf("localuser\x00#%d", os.Geteuid()))
	if err := xproto.ChangeHostsChecked(s.conn, xproto.HostModeInsert, xproto.FamilyServerInterpreted, uint16(len(me)),
		me).Check(); err != nil {
		return fmt.Errorf("let this user use the display: %w", err)
	}
	for _, h := range hosts.Hosts {
		if err := xproto.ChangeHostsChecked(s.conn, xproto.HostModeDelete, h.Family, h.AddressLen,
			h.Address).Check(); err != nil {
			return fmt.Errorf("let nobody else use the display: %w", err)
		}
	}
	return nil
}

// allowed returns the users of the display.
func (s *screen) allowed() ([]string, error) {
	hosts, err := xproto.ListHosts(s.conn).Reply()
	if err != nil {
		return nil, fmt.Errorf("list users of the display: %w", err)
	}
	var names []string
	for _, h := range hosts.Hosts {
		names = append(names, string(h.Address))
	}
	return names, nil
}

// watchWindows asks for an event when a window appears on the screen or changes its size.
func (s *screen) watchWindows() error {
	err := xproto.ChangeWindowAttributesChecked(s.conn, s.root, xproto.CwEventMask,
		[]uint32{xproto.EventMaskSubstructureNotify}).Check()
	if err != nil {
		return fmt.Errorf("watch for windows: %w", err)
	}
	return nil
}

// minWindow is the minimum side in pixels of a browser's window. A smaller new window belongs to
// a helper.
const minWindow = 100

// fill waits for a window that appears after watchWindows and makes it fill the screen exactly.
// Without a window manager nobody else does, and Chromium leaves out a pixel. The connection is
// closed if ctx ends.
func (s *screen) fill(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.conn.Close)
	defer stop()
	var main xproto.Window
	for {
		event, xerr := s.conn.WaitForEvent()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case event == nil && xerr == nil:
			return errors.New("the display has ended")
		}
		switch e := event.(type) {
		case xproto.MapNotifyEvent:
			if main != 0 || e.OverrideRedirect || !s.large(e.Window) {
				continue
			}
			main = e.Window
			if err := s.resize(main); err != nil {
				main = 0 // gone again; wait for another
				continue
			}
			if s.fills(main) {
				return nil
			}
		case xproto.ConfigureNotifyEvent:
			if e.Window == main && s.fills(main) {
				return nil
			}
		case xproto.DestroyNotifyEvent:
			if e.Window == main {
				main = 0
			}
		}
	}
}

func (s *screen) large(w xproto.Window) bool {
	g, err := xproto.GetGeometry(s.conn, xproto.Drawable(w)).Reply()
	return err == nil && g.Width >= minWindow && g.Height >= minWindow
}

func (s *screen) fills(w xproto.Window) bool {
	g, err := xproto.GetGeometry(s.conn, xproto.Drawable(w)).Reply()
	return err == nil && g.X == 0 && g.Y == 0 && g.BorderWidth == 0 && int(g.Width) == s.width &&
		int(g.Height) == s.height
}

func (s *screen) resize(w xproto.Window) error {
	const what = xproto.ConfigWindowX | xproto.ConfigWindowY | xproto.ConfigWindowWidth | xproto.ConfigWindowHeight
	return xproto.ConfigureWindowChecked(s.conn, w, what, []uint32{0, 0, uint32(s.width), uint32(s.height)}).Check()
}
