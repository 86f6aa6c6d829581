package media

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kind is the kind of a message.
type Kind byte

// Kinds of messages.
const (
	Job    Kind = 'J' // JSON: a [Request]
	Info   Kind = 'I' // JSON: the answer to a job
	Times  Kind = 'T' // times of packets, 64 bits each
	Frame  Kind = 'F' // a decoded frame
	Draw   Kind = 'D' // pixels of the video's next slot
	Slot   Kind = 'S' // the slot is complete
	End    Kind = 'E' // nothing follows
	Failed Kind = 'X' // JSON: a [Failure]

	maxText = 1 << 20
	// protocol is the version of all messages. Programs of different versions do not work together.
	protocol = 1
)

// Jobs.
const (
	Decode = "decode" // detail: [DecodeJob]
	Encode = "encode" // detail: [EncodeJob]
)

// DecodeJob asks for the frames of a file. Path is absolute.
type DecodeJob struct {
	Path string `json:"path"`
}

// Decoding answers a DecodeJob.
type Decoding struct {
	Opened   bool    `json:"opened"` // FFmpeg can decode the file; if not, nothing follows
	Codec    string  `json:"codec"`  // fourcc
	Width    float64 `json:"width"`
	Height   float64 `json:"height"`
	FPS      float64 `json:"fps"`
	Frames   float64 `json:"frames"`   // how many the container or FFmpeg's guess has
	Rotation float64 `json:"rotation"` // degrees, clockwise
	// Ticks is how many times of packets follow, in units of BaseNum/BaseDen seconds, in the order
	// of the file.
	Ticks   int64 `json:"ticks"`
	BaseNum int64 `json:"base_num"`
	BaseDen int64 `json:"base_den"`
}

// MaxTicks is how many times a message of Times holds.
const MaxTicks = 1 << 13

// FrameHead begins a message of Frame. BGR pixels follow if the size is that of the Decoding.
type FrameHead struct {
	Position      float64 // milliseconds
	Width, Height uint32
	More          bool // another frame follows
}

// EncodeJob asks for an MP4 file with H.264. Path is absolute.
type EncodeJob struct {
	Path   string `json:"path"`
	Width  int    `json:"width"`  // pixels, even
	Height int    `json:"height"` // pixels, even
	// RateNum/RateDen are slots a second.
	RateNum int64 `json:"rate_num"`
	RateDen int64 `json:"rate_den"`
	// KeyInterval is how many slots there are at most from keyframe to keyframe.
	KeyInterval int `json:"key_interval"`
}

// DrawHead begins a Draw message. BGR pixels follow: a picture of FromWidth x FromHeight. A picture
// of another size is scaled to the rectangle by area means.
type DrawHead struct {
	X, Y, Width, Height   uint32
	FromWidth, FromHeight uint32
}

// Request is the first message of a job.
type Request struct {
	Protocol int             `json:"protocol"`
	Job      string          `json:"job"`
	Detail   json.RawMessage `json:"detail"`
}

// Failure is why a job ended. Unsupported means that the program was built without what the job
// needs.
type Failure struct {
	Text        string `json:"error"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

func (f *Failure) Error() string { return f.Text }

// Is reports whether the failure stands for target.
func (f *Failure) Is(target error) bool { return f.Unsupported && target == errors.ErrUnsupported }

// Conn exchanges messages. It belongs to one goroutine.
type Conn struct {
	r    *bufio.Reader
	w    *bufio.Writer
	rest int64 // unread bytes of the last message
}

// NewConn returns a connection over two pipes.
func NewConn(r io.Reader, w io.Writer) *Conn {
	const buffer = 1 << 16
	return &Conn{r: bufio.NewReaderSize(r, buffer), w: bufio.NewWriterSize(w, buffer)}
}

// Write appends a message to the buffer. Its content is the parts, one behind the other.
func (c *Conn) Write(kind Kind, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	var head [5]byte
	head[0] = byte(kind)
	binary.LittleEndian.PutUint32(head[1:], uint32(n))
	_, err := c.w.Write(head[:])
	for _, p := range parts {
		if err == nil {
			_, err = c.w.Write(p)
		}
	}
	return err
}

// WriteJSON writes a message and flushes the buffer.
func (c *Conn) WriteJSON(kind Kind, content any) error {
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return errors.Join(c.Write(kind, b), c.w.Flush())
}

// Flush writes the buffer to the pipe.
func (c *Conn) Flush() error { return c.w.Flush() }

// Next reads the head of the next message. Unread bytes of the message before are an error.
func (c *Conn) Next() (kind Kind, length int64, err error) {
	if c.rest != 0 {
		return 0, 0, fmt.Errorf("message: %d bytes too many", c.rest)
	}
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, 0, err
	}
	c.rest = int64(binary.LittleEndian.Uint32(head[1:]))
	return Kind(head[0]), c.rest, nil
}

// Read fills b with the next bytes of the message.
func (c *Conn) Read(b []byte) error {
	if int64(len(b)) > c.rest {
		return fmt.Errorf("message: %d bytes are missing", int64(len(b))-c.rest)
	}
	n, err := io.ReadFull(c.r, b)
	c.rest -= int64(n)
	return err
}

// WriteHead appends a message that begins with a structure of fixed size.
func (c *Conn) WriteHead(kind Kind, head any, rest []byte) error {
	b, err := binary.Append(nil, binary.LittleEndian, head)
	if err != nil {
		return err
	}
	return c.Write(kind, b, rest)
}

// ReadHead reads a structure of fixed size.
func (c *Conn) ReadHead(into any) error {
	b := make([]byte, binary.Size(into))
	if err := c.Read(b); err != nil {
		return err
	}
	_, err := binary.Decode(b, binary.LittleEndian, into)
	return err
}

// Rest returns how many bytes of the message are unread.
func (c *Conn) Rest() int64 { return c.rest }

// ReadJSON reads the rest of the message.
func (c *Conn) ReadJSON(into any) error {
	if c.rest > maxText {
		return fmt.Errorf("message: %d bytes of text, want at most %d", c.rest, maxText)
	}
	b := make([]byte, c.rest)
	if err := c.Read(b); err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
