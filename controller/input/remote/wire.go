package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
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
	maxBody     = 1 << 20         // bytes of a message
	maxHead     = 4 << 10         // bytes of the request for a websocket
	buffer      = 4 << 10         // bytes of a websocket, each way
	greetWithin = 5 * time.Second // from the first byte to the end of the handshakes
)

// wire is a websocket over TLS. Each message is a JSON value in a text message. Reading belongs to
// one goroutine; writing does not.
type wire struct {
	conn *patient
	ws   *websocket.Conn

	writing sync.Mutex
}

// read reads a message into v, within patience.
func (w *wire) read(v any, patience time.Duration) error {
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

// errTooLong says that a message exceeds maxBody. Nothing was written.
var errTooLong = errors.New("message is too long")

// write writes a message. If stamp is not nil, write calls it before it encodes the message. At
// that time no other message can be written.
func (w *wire) write(v any, stamp func()) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if stamp != nil {
		stamp()
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxBody {
		return errTooLong
	}
	if err := w.ws.SetWriteDeadline(time.Now().Add(patience)); err != nil {
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

// accept makes an agent's wire of a connection. rig is the rig's version of the protocol.
func accept(ctx context.Context, conn net.Conn, c *tls.Config) (w *wire, rig string, err error) {
	p := &patient{Conn: conn}
	if err := conn.SetWriteDeadline(time.Now().Add(patience/2 + greetWithin)); err != nil {
		return nil, "", err
	}
	p.begin(patience / 2)
	first := make([]byte, 1)
	if _, err := p.Read(first); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errors.Join(errSilent, tellOldRig(conn))
		}
		return nil, "", err
	}
	p.first = first
	p.begin(greetWithin)
	secure := tls.Server(p, c)
	if err := secure.HandshakeContext(ctx); err != nil {
		var alert *net.OpError
		if errors.As(err, &alert) && alert.Op == "remote error" { // the rig has refused our certificate
			err = fmt.Errorf("%w: %w", errToken, err)
		}
		return nil, "", err
	}
	r, err := http.ReadRequest(bufio.NewReader(io.LimitReader(secure, maxHead)))
	if err != nil {
		return nil, "", err
	}
	upgrader := websocket.Upgrader{Subprotocols: websocket.Subprotocols(r), ReadBufferSize: buffer,
		WriteBufferSize: buffer}
	ws, err := upgrader.Upgrade(response{secure}, r, nil)
	if err != nil {
		return nil, "", err
	}
	ws.SetReadLimit(maxBody)
	return &wire{conn: p, ws: ws}, ws.Subprotocol(), nil
}

var errSilent = errors.New("the controller sends nothing; a rig of an older release needs an agent of that release")

// tellOldRig writes the first message of version 1, which a rig of that version waits for. It then
// reports the two versions.
func tellOldRig(conn net.Conn) error {
	hello := map[string]any{"protocol": "eideticker-input", "version": version, "nonce": make([]byte, 32)}
	body, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

// response hands a connection to the websocket.
type response struct{ net.Conn }

func (response) Header() http.Header { return http.Header{} }
func (response) WriteHeader(int)     {}
func (r response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.Conn, bufio.NewReadWriter(bufio.NewReader(r.Conn), bufio.NewWriter(r.Conn)), nil
}

// versionError says that an agent speaks another version of the protocol.
func versionError(theirs int) error {
	return fmt.Errorf("it speaks version %d of the protocol, this program %d; use builds of the same release", theirs,
		version)
}

// join makes a rig's wire of a connection.
func join(ctx context.Context, conn net.Conn, c *tls.Config) (*wire, error) {
	p := &patient{Conn: conn}
	p.begin(greetWithin)
	d := websocket.Dialer{
		HandshakeTimeout: greetWithin, Subprotocols: []string{subprotocol}, ReadBufferSize: buffer,
		WriteBufferSize: buffer,
		NetDialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			secure := tls.Client(p, c)
			return secure, secure.HandshakeContext(ctx)
		},
	}
	ws, _, err := d.DialContext(ctx, "wss://agent/", nil)
	if err != nil {
		return nil, greetingError(err)
	}
	ws.SetReadLimit(maxBody)
	return &wire{conn: p, ws: ws}, nil
}

// greetingError says which peer it is that does not speak as an agent does.
func greetingError(err error) error {
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain) && plain.RecordHeader[0] == 0 && plain.RecordHeader[4] == '{':
		return versionError(1)
	case errors.As(err, &plain) || errors.Is(err, websocket.ErrBadHandshake):
		return errors.New("it is not an input agent")
	}
	return err
}
