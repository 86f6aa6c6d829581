package session

import (
	"context"
	"fmt"
	"io"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// painter shows markers on an X display.
type painter struct {
	conn   *xgb.Conn
	screen *xproto.ScreenInfo
}

func newPainter(display string) (*painter, error) {
	xgb.Logger.SetOutput(io.Discard) // it logs missing authority files
	conn, err := xgb.NewConnDisplay(display)
	if err != nil {
		return nil, fmt.Errorf("connect to display %s: %w", display, err)
	}
	return &painter{conn, xproto.Setup(conn).DefaultScreen(conn)}, nil
}

// Green fills the root window. Other windows cover it.
func (p *painter) Green(context.Context) error { return p.fill(0x00ff00) }

// fill fills the root window with a colour.
func (p *painter) fill(rgb uint32) error {
	err := xproto.ChangeWindowAttributesChecked(p.conn, p.screen.Root, xproto.CwBackPixel, []uint32{rgb}).Check()
	if err == nil {
		err = xproto.ClearAreaChecked(p.conn, false, p.screen.Root, 0, 0, 0, 0).Check()
	}
	return err
}

// Red covers the screen with a window. It ends with the connection.
func (p *painter) Red(context.Context) error {
	w, err := xproto.NewWindowId(p.conn)
	if err != nil {
		return err
	}
	s := p.screen
	err = xproto.CreateWindowChecked(p.conn, s.RootDepth, w, s.Root, 0, 0, s.WidthInPixels, s.HeightInPixels, 0,
		xproto.WindowClassInputOutput, s.RootVisual, xproto.CwBackPixel|xproto.CwOverrideRedirect,
		[]uint32{0xff0000, 1}).Check()
	if err != nil {
		return err
	}
	return xproto.MapWindowChecked(p.conn, w).Check()
}

func (p *painter) close() { p.conn.Close() }
