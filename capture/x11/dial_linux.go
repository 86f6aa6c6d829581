package x11

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/x11/display"
)

// patience is how long a server may take to answer when nothing is being captured: on
// connecting and on closing.
const patience = 5 * time.Second

// parseDisplay reads the name of a display of this machine; an empty string means $DISPLAY.
func parseDisplay(s string) (display.Address, error) {
	if s == "" {
		if s = os.Getenv("DISPLAY"); s == "" {
			return display.Address{}, errors.New("no display given, and DISPLAY is not set; " + advice(":9"))
		}
	}
	a, err := display.Parse(s)
	if err == nil && a.Host != "" {
		err = fmt.Errorf("display %q: network displays have no shared memory; use a local display, as :N", s)
	}
	return a, err
}

// advice says which displays there are and how to get one.
func advice(wanted string) string {
	start := fmt.Sprintf(`start one with "Xvfb %s -screen 0 1280x720x24"`, wanted)
	if names := localDisplays(); len(names) > 0 {
		return "use one that is there (" + strings.Join(names, " ") + "), or " + start
	}
	return start
}

// listens reports whether a server may be there. To a server, someone who leaves before the
// greeting was no client.
func listens(a display.Address) bool {
	conn, err := a.Dial(patience)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED)
	}
	conn.Close()
	return true
}

// connection is an X connection whose socket can be given a deadline.
type connection struct {
	*xgb.Conn
	net    net.Conn
	setup  *xproto.SetupInfo
	screen *xproto.ScreenInfo
}

func connect(a display.Address) (*connection, error) {
	// The library's log has one destination for the whole process, standard error by default. What
	// it has to say reaches us as errors of the calls that failed.
	xgb.Logger.SetOutput(io.Discard)
	socket, err := a.Dial(patience)
	if err != nil {
		return nil, fmt.Errorf("no X server answers at display :%s (%w); %s", a.Number, err, advice(":"+a.Number))
	}
	socket.SetDeadline(time.Now().Add(patience))
	x, err := xgb.NewConnNet(socket)
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("the X server at display :%s refuses the connection: %w", a.Number, err)
	}
	socket.SetDeadline(time.Time{})
	c := &connection{Conn: x, net: socket, setup: xproto.Setup(x)}
	if a.Screen >= len(c.setup.Roots) {
		c.close()
		return nil, fmt.Errorf("display :%s has %d screens, no screen %d", a.Number, len(c.setup.Roots),
			a.Screen)
	}
	c.screen = &c.setup.Roots[a.Screen]
	return c, nil
}

// server names the server's program: who wrote it, and its release.
func (c *connection) server() string {
	return fmt.Sprintf("%s, release %d", c.setup.Vendor, c.setup.ReleaseNumber)
}

// close ends the connection and waits for the library's goroutines, but not for a server that
// hangs.
func (c *connection) close() {
	c.net.SetDeadline(time.Now().Add(patience))
	c.Conn.Close()
	for {
		if e, err := c.WaitForEvent(); e == nil && err == nil {
			return
		}
	}
}
