package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

const (
	blockSize  = 4096 // what a disk writes whole; all flushes are multiples of it
	headerSize = blockSize
	dataStart  = 2 * headerSize // two copies of the header come first

	formatVersion = 1
	codecRows     = 1 // rowdelta without moved spans, LZ4 blocks
	codecMoves    = 2 // rowdelta, LZ4 blocks
	codecResidual = 3 // rowdelta, blocks of residuals too
)

var fileMagic = [8]byte{0x89, 'E', 'I', 'D', '\r', '\n', 0x1a, '\n'}

// ErrNotRecording means that a file is not a recording.
var ErrNotRecording = errors.New("not an Eideticker recording")

// errVersion says that a recording needs a newer program.
var errVersion = errors.New("recording needs a newer version of eideticker")

// fileHeader is the first block of a file, written once and twice over.
type fileHeader struct {
	id         [16]byte
	codec      uint16
	created    int64 // ns since the Unix epoch
	wallOffset int64 // ns to add to a timeline.Time for the wall clock, when the recording began
	wallWidth  int64 // ns; how wrong wallOffset may be
	ownClock   bool
	packed     bool   // by [Pack]
	writer     string // program that wrote it
}

func (h *fileHeader) tag() uint32 { return binary.LittleEndian.Uint32(h.id[:]) }

// codecName returns the name of the codec for people.
func (h *fileHeader) codecName() string {
	switch h.codec {
	case codecRows:
		return "rowdelta+lz4"
	case codecMoves:
		return "rowdelta2+lz4"
	}
	return "rowdelta2+residuals"
}

const maxWriterName = 200

func (h *fileHeader) bytes() []byte {
	b := make([]byte, headerSize)
	le := binary.LittleEndian
	copy(b, fileMagic[:])
	le.PutUint16(b[8:], formatVersion)
	le.PutUint16(b[10:], formatVersion) // oldest version whose readers understand it
	le.PutUint16(b[12:], h.codec)
	if h.ownClock {
		b[14] = 1
	}
	if h.packed {
		b[14] |= 2
	}
	copy(b[16:], h.id[:])
	le.PutUint64(b[32:], uint64(h.created))
	le.PutUint64(b[40:], uint64(h.wallOffset))
	le.PutUint64(b[48:], uint64(h.wallWidth))
	name := h.writer[:min(len(h.writer), maxWriterName)]
	b[56] = byte(len(name))
	copy(b[57:], name)
	le.PutUint32(b[headerSize-4:], checksum(b[:headerSize-4]))
	return b
}

// parseFileHeader reads one copy of the header. The error wraps ErrNotRecording where not even the
// magic is there.
func parseFileHeader(b []byte) (fileHeader, error) {
	var h fileHeader
	le := binary.LittleEndian
	if len(b) < headerSize {
		return h, fmt.Errorf("%w: shorter than a header of %d bytes", ErrNotRecording, headerSize)
	}
	if !bytes.Equal(b[:8], fileMagic[:]) {
		return h, fmt.Errorf("%w: wrong signature", ErrNotRecording)
	}
	if le.Uint32(b[headerSize-4:]) != checksum(b[:headerSize-4]) {
		return h, &CorruptError{0, "file header fails its checksum"}
	}
	if v := le.Uint16(b[10:]); v > formatVersion {
		return h, fmt.Errorf("%w: format version %d, this program reads up to %d", errVersion, v, formatVersion)
	}
	if h.codec = le.Uint16(b[12:]); h.codec < codecRows || h.codec > codecResidual {
		return h, fmt.Errorf("%w: codec %d, this program reads %d to %d", errVersion, h.codec, codecRows, codecResidual)
	}
	copy(h.id[:], b[16:])
	h.ownClock, h.packed = b[14]&1 != 0, b[14]&2 != 0
	h.created = int64(le.Uint64(b[32:]))
	h.wallOffset = int64(le.Uint64(b[40:]))
	h.wallWidth = int64(le.Uint64(b[48:]))
	if n := int(b[56]); n <= maxWriterName && utf8.Valid(b[57:57+n]) {
		h.writer = string(b[57 : 57+n])
	}
	return h, nil
}

// Info has the properties of a recording as a whole.
type Info struct {
	Version    int
	ID         [16]byte
	Created    time.Time
	Writer     string // program that wrote it
	Codec      string
	Complete   bool          // closed cleanly
	OwnClock   bool          // times are the source's own, not the rig's
	WallOffset int64         // ns to add to a timeline.Time for ns since the Unix epoch, when the recording began
	WallWidth  time.Duration // how wrong WallOffset may be
	WallDrift  time.Duration // by how much WallOffset moved until the end: the wall clock was set or slewed
	Bytes      int64         // size of the file
}
