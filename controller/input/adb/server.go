package adb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// defaultServer is where the adb server listens unless ANDROID_ADB_SERVER_PORT says otherwise.
const defaultServer = "127.0.0.1:5037"

// Server is an adb server.
type Server struct {
	Address  string        // host:port; "" for this machine's own
	Patience time.Duration // how long it, or a command on a device, may take to answer; 0: defaultPatience
}

// defaultPatience is for a command that starts a program of Java on a slow device.
const defaultPatience = 30 * time.Second

// Attached is a device that a server knows.
type Attached struct {
	Serial string
	State  string // "device" if it can be used, else "unauthorized" or "offline", for example
}

// maxAnswer bounds what a server says at once: its lengths have four digits.
const maxAnswer = 0xffff

func (s Server) address() string {
	if s.Address != "" {
		return s.Address
	}
	if port := os.Getenv("ANDROID_ADB_SERVER_PORT"); port != "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return defaultServer
}

// limited returns a context for one exchange with whom, which was asked for something.
func (s Server) limited(ctx context.Context, whom, asked string) (context.Context, context.CancelFunc) {
	limit := s.Patience
	if limit == 0 {
		limit = defaultPatience
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %s did not answer within %v when asked for %.100q",
		input.ErrGone, whom, limit, asked))
}

// conn is a connection to the server. It ends with the context it was made with.
type conn struct {
	net.Conn
	r    *bufio.Reader
	stop func() bool
}

func (s Server) dial(ctx context.Context) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, fmt.Errorf("reach the adb server (start it by: adb start-server): %w", ended(ctx, err))
	}
	return &conn{c, bufio.NewReader(c), context.AfterFunc(ctx, func() { _ = c.Close() })}, nil
}

func (c *conn) close() {
	c.stop()
	_ = c.Close() // was only talked to
}

// ask sends a request, and returns when the server has agreed to it.
func (c *conn) ask(request string) error {
	if len(request) > maxAnswer {
		return fmt.Errorf("adb: a request of %d bytes is too long", len(request))
	}
	if _, err := fmt.Fprintf(c, "%04x%s", len(request), request); err != nil {
		return fmt.Errorf("adb: %w", err)
	}
	return c.status(request)
}

// status reads the answer to a request.
func (c *conn) status(request string) error {
	var status [4]byte
	if _, err := io.ReadFull(c.r, status[:]); err != nil {
		return fmt.Errorf("adb: no answer to %.60q: %w", request, err)
	}
	switch string(status[:]) {
	case "OKAY":
		return nil
	case "FAIL":
		why, err := c.text()
		if err != nil {
			return err
		}
		return &refusedError{Reason: why}
	}
	return fmt.Errorf("adb: %q is not an answer of an adb server", status)
}

// text reads an answer of text.
func (c *conn) text() (string, error) {
	var digits [4]byte
	if _, err := io.ReadFull(c.r, digits[:]); err != nil {
		return "", fmt.Errorf("adb: %w", err)
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return "", fmt.Errorf("adb: invalid length %q", digits)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		return "", fmt.Errorf("adb: %w", err)
	}
	return string(b), nil
}

// refusedError is what a server says that does not do as asked.
type refusedError struct{ Reason string }

func (e *refusedError) Error() string {
	reason := strings.TrimSpace(e.Reason)
	switch {
	case strings.Contains(reason, "unauthorized"):
		return "adb: the device does not trust this machine: unlock it and allow debugging on its screen"
	case strings.Contains(reason, "more than one"):
		return "adb: several devices are attached: name one, as adb:SERIAL"
	case strings.Contains(reason, "no devices"):
		return "adb: no device is attached"
	}
	return fmt.Sprintf("adb: %.300s", reason)
}

// Devices lists the attached devices.
func (s Server) Devices(ctx context.Context) ([]Attached, error) {
	const request = "host:devices"
	ctx, cancel := s.limited(ctx, "the adb server at "+s.address(), request)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := c.ask(request); err != nil {
		return nil, ended(ctx, err)
	}
	list, err := c.text()
	if err != nil {
		return nil, ended(ctx, err)
	}
	var all []Attached
	for line := range strings.Lines(list) {
		if serial, state, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			all = append(all, Attached{serial, state})
		}
	}
	return all, nil
}

// ended puts the context's own reason before that of a connection which it has closed.
func ended(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); err != nil && ok && time.Until(deadline) <= 0 {
		<-ctx.Done() // A dial has a timer of its own for the deadline, which may be the first to fire.
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// choose returns the serial of the one device that is meant, or why there is none.
func choose(all []Attached, serial string) (string, error) {
	var ready []string
	for _, a := range all {
		if serial != "" && a.Serial != serial {
			continue
		}
		if a.State == "device" {
			ready = append(ready, a.Serial)
		} else if serial != "" || len(all) == 1 {
			return "", fmt.Errorf("device %s: %w", a.Serial, &refusedError{Reason: "device " + a.State})
		}
	}
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case serial != "":
		return "", fmt.Errorf("adb: no device %q is attached; %s", serial, listed(all))
	case len(ready) == 0:
		return "", errors.New("adb: no usable device is attached; " + listed(all))
	}
	return "", fmt.Errorf("adb: several devices are attached: name one, as adb:SERIAL, of %s",
		strings.Join(ready, ", "))
}

func listed(all []Attached) string {
	if len(all) == 0 {
		return "known: none"
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Serial+" ("+a.State+")")
	}
	return "known: " + strings.Join(names, ", ")
}
