package x11

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/x11/display"
	"github.com/eideticker/eideticker/controller/input"
)

// patience is how long a server may take to answer.
const patience = 5 * time.Second

// connection is a connection to a display that gives up a server which hangs.
type connection struct {
	*xgb.Conn
	wire *wire
	name string
	root xproto.Window
}

func connect(name string) (*connection, error) {
	a, err := display.Parse(name)
	if err != nil {
		return nil, err
	}
	// The library's log has one destination for the whole process, standard error by default. What
	// it has to say reaches us as errors of the calls that failed.
	xgb.Logger.SetOutput(io.Discard)
	socket, err := a.Dial(patience)
	if err != nil {
		return nil, fmt.Errorf("no X server answers at display %s: %w", name, err)
	}
	w := &wire{Conn: socket}
	_ = w.SetDeadline(time.Now().Add(patience))
	x, err := xgb.NewConnNet(w)
	if err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("the X server at display %s does not let us in: %w", name, err)
	}
	_ = w.SetDeadline(time.Time{})
	c := &connection{Conn: x, wire: w, name: name}
	roots := xproto.Setup(x).Roots
	if a.Screen >= len(roots) {
		c.close()
		return nil, fmt.Errorf("display %s has %d screens, no screen %d", name, len(roots), a.Screen)
	}
	c.root = roots[a.Screen].Root
	return c, nil
}

// ask does what waits for the server. An error of X is returned as it is; anything else means that
// the server, or the way to it, is gone.
func (c *connection) ask(f func() error) error {
	late := time.AfterFunc(patience, c.abandon)
	defer late.Stop()
	err := f()
	var refused xgb.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("display %s: %w", c.name, input.ErrGone)
}

// get asks for a reply.
func get[T any](c *connection, reply func() (*T, error)) (*T, error) {
	var r *T
	err := c.ask(func() (err error) {
		if r, err = reply(); r == nil && err == nil {
			err = io.EOF
		}
		return err
	})
	return r, err
}

// raw asks what the library has no words for.
func (c *connection) raw(request []byte) ([]byte, error) {
	var reply []byte
	err := c.ask(func() (err error) {
		cookie := c.NewCookie(true, true)
		c.NewRequest(request, cookie)
		reply, err = cookie.Reply()
		return err
	})
	return reply, err
}

// sync returns when the server has done all that it was told: what it sent us before can be polled.
func (c *connection) sync() error {
	_, err := get(c, xproto.GetInputFocus(c.Conn).Reply)
	return err
}

// abandon ends the connection without the server.
func (c *connection) abandon() {
	_ = c.wire.Close()
	c.drain()
}

// close ends the connection and waits for the library's goroutines, but not for a server that
// hangs.
func (c *connection) close() {
	_ = c.wire.SetDeadline(time.Now().Add(patience))
	c.Conn.Close()
	c.drain()
}

func (c *connection) drain() {
	for {
		if e, err := c.WaitForEvent(); e == nil && err == nil {
			return
		}
	}
}
