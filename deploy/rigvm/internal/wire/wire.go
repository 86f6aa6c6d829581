// Package wire is the protocol between the host and the agent in the guest, over one virtio-serial
// port.
//
// Both directions are a sequence of frames:
//
//	offset  bytes
//	0       4      length of the payload, big endian, at most MaxPayload;
//	4       4      number of the call, big endian; 0 is the greeting;
//	8       1      kind;
//	9       n      payload.
//
// The host opens a call with a Request under a new number. Frames of several calls may be mixed.
// Those of one call keep their order. A call ends with the guest's Done. The port is a reliable
// stream, so frames have no checksums.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// PortName is the name of the virtio-serial port.
const PortName = "rigvm"

// MaxPayload bounds what one frame carries, and so what a reader allocates.
const MaxPayload = 64 << 10

const headerBytes = 9

// Kind says what a frame is.
type Kind byte

// Kinds of frames.
const (
	Hello   Kind = 1 + iota // guest to host: a Greeting, once, when the guest is ready
	Request                 // host to guest: a Call
	Data                    // either way: bytes of a file
	End                     // host to guest: the file is complete
	Cancel                  // host to guest: end what runs
	Stdout                  // guest to host
	Stderr                  // guest to host
	Done                    // guest to host: a Reply; the call is over
)

// Greeting says that the guest is ready, or why it is not.
type Greeting struct {
	Kernel string // release, as uname tells it
	Error  string // "" if ready
}

// Op is what a call asks for.
type Op string

// Calls of the host.
const (
	Run      Op = "run"      // start a program; Stdout and Stderr follow
	Put      Op = "put"      // write a file; Data and End follow from the host
	Get      Op = "get"      // read a file; Data follows from the guest
	Load     Op = "load"     // finit_module(Path, Params)
	Unload   Op = "unload"   // delete_module(Path)
	PowerOff Op = "poweroff" // unmount, sync, and turn off
)

// Call is the payload of a Request.
type Call struct {
	Op     Op
	Path   string   // program, file, or module
	Args   []string `json:",omitempty"` // of a program, without its name
	Env    []string `json:",omitempty"`
	Dir    string   `json:",omitempty"`
	Stdin  string   `json:",omitempty"` // a file in the guest
	Mode   uint32   `json:",omitempty"` // permission bits of a file that is written
	Params string   `json:",omitempty"` // of a module
}

// Reply is the payload of Done.
type Reply struct {
	Error    string `json:",omitempty"` // "" if the call did what it should
	Errno    int    `json:",omitempty"` // the error number behind Error, if there is one
	ExitCode int    `json:",omitempty"` // of a program; 128+n if signal n ended it
}

// Frame is one message. Payload is valid until the next Read.
type Frame struct {
	Call    uint32
	Kind    Kind
	Payload []byte
}

// Unmarshal decodes a JSON payload.
func (f Frame) Unmarshal(v any) error {
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("decode frame of kind %d: %w", f.Kind, err)
	}
	return nil
}

// Reader reads frames. It is for one goroutine.
type Reader struct {
	r   io.Reader
	buf []byte
}

// NewReader returns a reader of frames; r should be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read returns the next frame. A stream that ends between frames ends with io.EOF.
func (r *Reader) Read() (Frame, error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(h[0:])
	if n > MaxPayload {
		return Frame{}, fmt.Errorf("frame of %d bytes, more than %d", n, MaxPayload)
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, MaxPayload)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Call: binary.BigEndian.Uint32(h[4:]), Kind: Kind(h[8]), Payload: r.buf}, nil
}

// Append appends a frame to b. The payload must not be longer than MaxPayload.
func Append(b []byte, call uint32, kind Kind, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, call)
	b = append(b, byte(kind))
	return append(b, payload...)
}
