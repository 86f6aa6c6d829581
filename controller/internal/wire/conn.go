package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Bounds of what a peer may send and how long it may take.
const (
	MaxBody     = 1 << 20         // bytes of a message
	maxHead     = 4 << 10         // bytes of the request for a websocket
	buffer      = 4 << 10         // bytes of a websocket, each way
	GreetWithin = 5 * time.Second // from the first byte to the end of the handshakes
	Patience    = 2 * time.Second // for a write, and twice of that for a first byte
)

// Conn is a websocket over TLS. Each message is a JSON value in a text message. Reading belongs to
// one goroutine; writing does not.
type Conn struct {
	conn *patient
	ws   *websocket.Conn

	writing sync.Mutex
}

// Close ends the connection. It may be called at any time.
func (w *Conn) Close() error { return w.conn.Close() }

// Read reads a message into v, within patience.
func (w *Conn) Read(v any, patience time.Duration) error {
	w.conn.begin(patience)
	kind, body, err := w.ws.ReadMessage()
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(): // the websocket hides which error it was
		return os.ErrDeadlineExceeded
	case websocket.IsCloseError(err, websocket.CloseAbnormalClosure):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case kind != websocket.TextMessage:
		return errors.New("binary message: want JSON")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("message is not valid: %w", err)
	}
	return nil
}

// ErrTooLong says that a message exceeds MaxBody. Nothing was written.
var ErrTooLong = errors.New("message is too long")

// Write writes a message. If stamp is not nil, it calls it before it encodes the message. At
// that time no other message can be written.
func (w *Conn) Write(v any, stamp func()) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if stamp != nil {
		stamp()
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > MaxBody {
		return ErrTooLong
	}
	if err := w.ws.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		return err
	}
	return w.ws.WriteMessage(websocket.TextMessage, body)
}

// parts divide a timeout. A machine that stood still has missed one part's deadline, and reads
// what arrived meanwhile in the next.
const parts = 4

// patient is a connection whose reads share a timeout, which begin sets.
type patient struct {
	net.Conn
	first []byte // was read already
	part  time.Duration
	left  int // parts that have not begun
	err   error
}

func (p *patient) begin(patience time.Duration) {
	p.part, p.left, p.err = patience/parts, parts, nil
}

func (p *patient) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	for {
		if p.left == parts || errors.Is(p.err, os.ErrDeadlineExceeded) {
			p.left--
			if err := p.Conn.SetReadDeadline(time.Now().Add(p.part)); err != nil {
				return 0, err
			}
		}
		var n int
		if n, p.err = p.Conn.Read(b); n > 0 || p.left == 0 || !errors.Is(p.err, os.ErrDeadlineExceeded) {
			return n, p.err
		}
	}
}

// Accept makes an agent's connection. rig is the rig's protocol. A rig that sends nothing gets the
// answer of silent, which may be nil.
func Accept(ctx context.Context, conn net.Conn, c *tls.Config, silent func(net.Conn) error) (w *Conn, rig string,
	err error) {
	p := &patient{Conn: conn}
	if err := conn.SetWriteDeadline(time.Now().Add(Patience/2 + GreetWithin)); err != nil {
		return nil, "", err
	}
	p.begin(Patience / 2)
	first := make([]byte, 1)
	if _, err := p.Read(first); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errSilent
			if silent != nil {
				err = errors.Join(err, silent(conn))
			}
		}
		return nil, "", err
	}
	p.first = first
	p.begin(GreetWithin)
	secure := tls.Server(p, c)
	if err := secure.HandshakeContext(ctx); err != nil {
		var alert *net.OpError
		if errors.As(err, &alert) && alert.Op == "remote error" { // the rig has refused our certificate
			err = fmt.Errorf("%w: %w", ErrToken, err)
		}
		return nil, "", err
	}
	return upgrade(p, secure)
}

// upgrade makes an agent's connection. conn is what p carries.
func upgrade(p *patient, conn net.Conn) (w *Conn, rig string, err error) {
	r, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, maxHead)))
	if err != nil {
		return nil, "", err
	}
	upgrader := websocket.Upgrader{Subprotocols: websocket.Subprotocols(r), ReadBufferSize: buffer,
		WriteBufferSize: buffer}
	ws, err := upgrader.Upgrade(response{conn}, r, nil)
	if err != nil {
		return nil, "", err
	}
	ws.SetReadLimit(MaxBody)
	return &Conn{conn: p, ws: ws}, ws.Subprotocol(), nil
}

// Plain makes an agent's connection without TLS, for tests.
func Plain(conn net.Conn) (*Conn, error) {
	p := &patient{Conn: conn}
	c, _, err := upgrade(p, p)
	return c, err
}

var errSilent = errors.New("the controller sends nothing; a rig of an older release needs an agent of that release")

// response hands a connection to the websocket.
type response struct{ net.Conn }

func (response) Header() http.Header { return http.Header{} }
func (response) WriteHeader(int)     {}
func (r response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.Conn, bufio.NewReadWriter(bufio.NewReader(r.Conn), bufio.NewWriter(r.Conn)), nil
}

// Join makes a rig's connection.
func Join(ctx context.Context, conn net.Conn, c *tls.Config, protocol string) (*Conn, error) {
	p := &patient{Conn: conn}
	p.begin(GreetWithin)
	d := websocket.Dialer{
		HandshakeTimeout: parts * GreetWithin, // for a machine that stood still; p has the usual bound
		Subprotocols:     []string{protocol}, ReadBufferSize: buffer, WriteBufferSize: buffer,
		NetDialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			secure := tls.Client(p, c)
			return secure, secure.HandshakeContext(ctx)
		},
	}
	ws, _, err := d.DialContext(ctx, "wss://agent/", nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(MaxBody)
	return &Conn{conn: p, ws: ws}, nil
}

// ErrToken says that the two sides do not have the same token.
var ErrToken error = tokenError{}

type tokenError struct{}

func (tokenError) Error() string { return "rig and agent do not have the same token" }
