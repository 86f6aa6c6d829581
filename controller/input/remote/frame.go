package remote

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A frame is the length of its body as 4 bytes, the greatest first; behind the handshake, 16 bytes of tag; and the body, a JSON value. The tag is the
// beginning of the HMAC-SHA-256, under the key of the direction, of the frame's number, 8 bytes from 0 on, and the body.
const (
	maxGreeting = 4 << 10 // bytes of a body before anybody has proved anything
	maxBody     = 1 << 20 // afterwards
	tagSize     = 16
)

// wire is a connection that carries frames. Reading belongs to one goroutine; writing does not.
type wire struct {
	conn  net.Conn
	limit int
	in    *seal

	writing sync.Mutex
	out     *seal
}

func newWire(conn net.Conn) *wire { return &wire{conn: conn, limit: maxGreeting} }

// secure has all frames tagged from here on.
func (w *wire) secure(in, out []byte) {
	w.limit = maxBody
	w.in, w.out = &seal{key: in}, &seal{key: out}
}

// seal tags the frames of one direction.
type seal struct {
	key   []byte
	count uint64
}

func (s *seal) tag(body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(binary.BigEndian.AppendUint64(nil, s.count))
	h.Write(body)
	s.count++
	return h.Sum(nil)[:tagSize]
}

// read reads a frame's body into v, within patience.
func (w *wire) read(v any, patience time.Duration) error {
	body, err := readFrame(&patient{conn: w.conn, part: patience / parts, left: parts}, w.in, w.limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("frame is no message: %w", err)
	}
	return nil
}

// parts are what patience is waited for in, one after another: a machine that stood still has passed over one of them, and reads in the next what came meanwhile.
const parts = 4

// patient reads one frame.
type patient struct {
	conn net.Conn
	part time.Duration
	left int // parts that have not begun
	err  error
}

func (p *patient) Read(b []byte) (int, error) {
	for {
		if p.left == parts || errors.Is(p.err, os.ErrDeadlineExceeded) {
			p.left--
			if err := p.conn.SetReadDeadline(time.Now().Add(p.part)); err != nil {
				return 0, err
			}
		}
		var n int
		if n, p.err = p.conn.Read(b); n > 0 || p.left == 0 || !errors.Is(p.err, os.ErrDeadlineExceeded) {
			return n, p.err
		}
	}
}

func readFrame(r io.Reader, s *seal, limit int) ([]byte, error) {
	var head [4 + tagSize]byte
	n := 4
	if s != nil {
		n += tagSize
	}
	if _, err := io.ReadFull(r, head[:n]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if int64(size) > int64(limit) {
		return nil, fmt.Errorf("frame of %d bytes, limit %d", size, limit)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, noEOF(err)
	}
	if s != nil && !hmac.Equal(head[4:n], s.tag(body)) {
		return nil, errors.New("a frame's tag is wrong: somebody else wrote or changed it")
	}
	return body, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// errTooLong says that a message does not fit a frame. Nothing was written.
var errTooLong = errors.New("message is too long for a frame")

// write writes a message. Stamp, if it is not nil, is called when it is the message's turn, before it is encoded.
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
	if err := w.conn.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		return err
	}
	_, err = w.conn.Write(appendFrame(nil, w.out, body))
	return err
}

func appendFrame(to []byte, s *seal, body []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(body)))
	if s != nil {
		to = append(to, s.tag(body)...)
	}
	return append(to, body...)
}
