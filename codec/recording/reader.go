package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Segment is a run of frames of one format.
type Segment = frame.Segment

// Gap is a run of missing frames and the number of the frame that it stands before.
type Gap = frame.Hole

// Metadata is a named JSON value of the recording as a whole.
type Metadata struct {
	Name  string
	Value json.RawMessage
}

// frameEntry is the reader's entry of one frame.
type frameEntry struct {
	meta     frame.Meta
	offset   int64  // of the record; 0: the frame is lost
	bodyLen  uint64 // of a lost frame: where the last record before it ends
	interval int32  // whose heads hold the frame's
	headAt   uint32 // in the interval's heads
	headLen  uint32
}

// end is where the frame's record ends.
func (f *frameEntry) end() int64 {
	h := recordHeader{headLen: f.headLen, bodyLen: f.bodyLen}
	return f.offset + h.size()
}

// eventEntry is the reader's entry of one event.
type eventEntry struct {
	timeline.EventHead
	place valuePlace
}

// valuePlace is where the head and the body of an event or a metadata value are.
type valuePlace struct {
	offset   int64
	bodyLen  uint64
	interval int32
	headAt   uint32
	headLen  uint32
}

type metadataEntry struct {
	Metadata            // Value is nil until all heads are loaded
	place    valuePlace // of the newest value
}

type checkpointEntry struct {
	checkpointHead
	segment int
	offset  int64 // of the record
}

// Reader reads a recording, also while it grows: it then sees the content at the time of opening.
// Its methods may be called from several goroutines. The caller owns their results, unless they say
// otherwise.
type Reader struct {
	f      io.ReaderAt
	hint   func(offset, length int64) // tells the system that a part of the file is needed soon; nil: nobody to tell
	closer io.Closer
	size   int64
	header fileHeader

	complete    bool
	frames      []frameEntry
	segments    []Segment
	segment     uint64 // number of the last segment; one that was lost leaves a hole
	layouts     map[frame.Format]*frame.Layout
	layoutRows  int
	gaps        []Gap
	events      []eventEntry
	metadata    []metadataEntry
	names       map[string]int // in metadata
	valueBytes  int64          // of all events and metadata
	checkpoints []checkpointEntry
	damage      []Damage
	faults      int // entries of damage without bytes to be marked
	wallLast    int64

	intervals []interval
	indexes   []int64 // offsets of all sound indexes
	tailFrom  int64   // where records start that no index covers
	tailEntry int64   // as committer.entryAt at the end of the tail
	tail      []byte  // index entries of the tail, for repair
	tailFirst uint64
	end       int64 // end of the last whole record

	cacheMu sync.Mutex
	cache   []cachedHeads // by use, the last one first
	cached  int           // bytes

	residuals func() *rowdelta.Unpacker // made by the first block of residuals
	resolvers sync.Pool
	fetches   sync.Pool
	players   atomic.Int32 // that are at work
}

// interval is the records that one index covers.
type interval struct {
	at     int64 // offset of the index record; 0: heads are kept in memory
	heads  []byte
	blocks []blockInfo
}

type cachedHeads struct {
	interval int32
	heads    []byte
}

// Bounds of the heads that are kept once they were read. The last ones are always kept.
const (
	maxCached = 4 << 20 // bytes
	maxHeads  = 1024    // intervals, which are searched through
)

// Open opens a recording for reading.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open recording %s: %w", path, err)
	}
	r, err := newReader(f, st.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.closer = f
	r.hint = func(offset, length int64) { readAhead(f, offset, length) }
	return r, nil
}

// newReader reads the indexes and metadata of a recording of size bytes, before any frame is read.
func newReader(f io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{f: f, size: size, layouts: map[frame.Format]*frame.Layout{}, names: map[string]int{}}
	r.residuals = sync.OnceValue(func() *rowdelta.Unpacker {
		return rowdelta.NewUnpacker(maxBlockRaw, runtime.GOMAXPROCS(0))
	})
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	r.wallLast = r.header.wallOffset
	if err := r.readIndexes(); err != nil {
		return nil, err
	}
	if err := r.readTail(); err != nil {
		return nil, err
	}
	if err := r.readMetadata(); err != nil {
		return nil, err
	}
	r.finishSegments()
	r.frames = slices.Clone(r.frames) // without the room that it grew into
	return r, nil
}

// readHeader takes the first sound copy of the header.
func (r *Reader) readHeader() error {
	b := make([]byte, dataStart)
	n, err := r.f.ReadAt(b[:min(int64(len(b)), r.size)], 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read recording: %w", err)
	}
	h, err := parseFileHeader(b[:n])
	if err != nil && n == dataStart && !errors.Is(err, errVersion) {
		var again error
		if h, again = parseFileHeader(b[headerSize:]); again == nil {
			r.damage = append(r.damage, Damage{0, headerSize, "first copy of the file header"})
			err = nil
		}
	}
	r.header = h
	return err
}

// finishSegments counts each segment's frames.
func (r *Reader) finishSegments() {
	for i := range r.segments {
		end := len(r.frames)
		if i+1 < len(r.segments) {
			end = r.segments[i+1].First
		}
		r.segments[i].Frames = end - r.segments[i].First
	}
	for i := range r.segments {
		// What an index says of a segment that another followed stands only on the frames before
		// that index.
		if s := &r.segments[i]; s.FemtoPeriod == 0 || i+1 < len(r.segments) {
			s.FemtoPeriod = r.fitPeriod(s)
		}
	}
}

func (r *Reader) fitPeriod(s *Segment) int64 {
	var fit timeline.PeriodFit
	for _, f := range r.frames[s.First : s.First+s.Frames] {
		if f.offset != 0 {
			fit.Add(f.meta.Sequence, f.meta.Sampled.Mid())
		}
	}
	return fit.FemtoPeriod()
}

// Close closes the file. It is idempotent.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	err := r.closer.Close()
	r.closer = nil
	return err
}

// Info returns the properties of the recording.
func (r *Reader) Info() Info {
	return Info{
		Version: formatVersion, ID: r.header.id, Created: time.Unix(0, r.header.created),
		Writer: r.header.writer, Codec: r.header.codecName(),
		Complete: r.complete, OwnClock: r.header.ownClock,
		WallOffset: r.header.wallOffset, WallWidth: time.Duration(r.header.wallWidth),
		WallDrift: time.Duration(r.wallLast - r.header.wallOffset),
		Bytes:     r.size,
	}
}

// Frames returns how many frames there are. Numbers of frames that were lost to damage count: Meta
// and Image name them.
func (r *Reader) Frames() int { return len(r.frames) }

// Segments returns the runs of frames of one format, in order.
func (r *Reader) Segments() []Segment { return slices.Clone(r.segments) }

// SegmentOf returns the segment of frame n.
func (r *Reader) SegmentOf(n int) (Segment, error) {
	if n < 0 || n >= len(r.frames) {
		return Segment{}, r.outside(n)
	}
	return r.segments[r.segmentIndex(n)], nil
}

func (r *Reader) segmentIndex(n int) int {
	return sort.Search(len(r.segments), func(i int) bool { return r.segments[i].First > n }) - 1
}

func (r *Reader) outside(n int) error {
	return fmt.Errorf("frame %d is outside the recording's %d frames", n, len(r.frames))
}

// Meta returns the metadata of frame n.
func (r *Reader) Meta(n int) (frame.Meta, error) {
	if n < 0 || n >= len(r.frames) {
		return frame.Meta{}, r.outside(n)
	}
	if r.frames[n].offset == 0 {
		return frame.Meta{}, r.lost(n)
	}
	return r.frames[n].meta, nil
}

// lost returns the reason why frame n cannot be read.
func (r *Reader) lost(n int) error {
	at := int64(r.frames[n].bodyLen)
	for _, d := range r.damage {
		if d.Offset >= at {
			return fmt.Errorf("frame %d is lost: %w", n, &CorruptError{d.Offset, d.What})
		}
	}
	return fmt.Errorf("frame %d is lost: %w", n, &CorruptError{at, "its record is missing"})
}

// Gaps returns all runs of missing frames, in order.
func (r *Reader) Gaps() []Gap { return slices.Clone(r.gaps) }

// Events returns all events without their data, in the order in which they were recorded.
// [Reader.Event] reads the data.
func (r *Reader) Events() []timeline.EventHead {
	all := make([]timeline.EventHead, len(r.events))
	for i := range r.events {
		all[i] = r.events[i].EventHead
	}
	return all
}

// Event reads event n of [Reader.Events] with its data. Damaged data is a [CorruptError].
func (r *Reader) Event(n int) (timeline.Event, error) {
	if n < 0 || n >= len(r.events) {
		return timeline.Event{}, fmt.Errorf("event %d is outside the recording's %d events", n, len(r.events))
	}
	e := &r.events[n]
	data, err := r.value(e.place)
	if err != nil {
		return timeline.Event{}, err
	}
	whole := timeline.Event{At: e.At, Uncertainty: e.Uncertainty, Source: e.Source, Kind: e.Kind, Data: data}
	if err := whole.Validate(); err != nil {
		return timeline.Event{}, &CorruptError{e.place.offset, fmt.Sprintf("event record: %v", err)}
	}
	return whole, nil
}

// Metadata returns the newest value of each name, in the order in which names first appeared.
func (r *Reader) Metadata() []Metadata {
	all := make([]Metadata, len(r.metadata))
	for i := range r.metadata {
		all[i] = r.metadata[i].Metadata
	}
	return all
}

// MaxUntrustedValues is the largest [Reader.ValueBytes] of a recording that somebody else sends.
const MaxUntrustedValues = 64 << 20

// ValueBytes returns the unpacked size of all events and metadata, with their names. Replaced
// metadata counts.
func (r *Reader) ValueBytes() int64 { return r.valueBytes }

// Damage returns the damage that was found when the recording was opened. Pixel bytes are checked
// when they are read.
func (r *Reader) Damage() []Damage { return slices.Clone(r.damage) }

// Find returns the last frame that was sampled at or before t, or -1. Lost frames are passed over.
func (r *Reader) Find(t timeline.Time) int {
	n := sort.Search(len(r.frames), func(i int) bool {
		for ; i < len(r.frames); i++ {
			if r.frames[i].offset != 0 {
				return r.frames[i].meta.Sampled.Earliest > t
			}
		}
		return true
	}) - 1
	for n >= 0 && r.frames[n].offset == 0 {
		n--
	}
	return n
}

// heads returns the heads of an interval, which must not be changed.
func (r *Reader) heads(i int32) ([]byte, error) {
	x := &r.intervals[i]
	if x.at == 0 {
		return x.heads, nil
	}
	r.cacheMu.Lock()
	defer r.cacheMu.Unlock()
	for k, c := range r.cache {
		if c.interval == i {
			copy(r.cache[1:k+1], r.cache[:k]) // newest first
			r.cache[0] = c
			return c.heads, nil
		}
	}
	heads, err := r.readBlocks(x.blocks, nil)
	if err != nil {
		return nil, err
	}
	for n := len(r.cache) - 1; n > 0 && (n >= maxHeads || r.cached+len(heads) > maxCached); n-- {
		r.cached -= len(r.cache[n].heads)
		r.cache[n] = cachedHeads{}
		r.cache = r.cache[:n]
	}
	r.cached += len(heads)
	r.cache = slices.Insert(r.cache, 0, cachedHeads{i, heads})
	return heads, nil
}

// frameHead reads the head of frame n into h; h.delta stays a part of the file's heads.
func (r *Reader) frameHead(n int, h *frameHead) error {
	f := &r.frames[n]
	if f.offset == 0 {
		return r.lost(n)
	}
	heads, err := r.heads(f.interval)
	if err != nil {
		return err
	}
	body := f.offset + recordHeaderSize + int64(f.headLen)
	if err := h.parse(heads[f.headAt:f.headAt+f.headLen], body, f.bodyLen, false); err != nil {
		return &CorruptError{f.offset, err.Error()}
	}
	return nil
}

// readBlocks appends the unpacked bytes of some blocks to dst.
func (r *Reader) readBlocks(blocks []blockInfo, dst []byte) ([]byte, error) {
	total := 0
	for _, b := range blocks {
		total += int(b.raw)
		if b.kind != rowdelta.Plain {
			return dst, &CorruptError{b.offset, "block of residuals outside of frames"}
		}
		if total > frame.MaxBytes {
			return dst, &CorruptError{b.offset, fmt.Sprintf("more than %d bytes in one record", frame.MaxBytes)}
		}
		if b.offset < 0 || b.offset > r.size-int64(b.stored) {
			return dst, &CorruptError{b.offset, "block lies behind the end of the file"}
		}
	}
	dst = slices.Grow(dst, total)
	var stored []byte
	for _, b := range blocks {
		at := len(dst)
		dst = dst[:at+int(b.raw)]
		var err error
		if stored, err = r.readBlock(b, dst[at:], stored); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// readBlock unpacks one block into dst, which has its raw size; stored is scratch that is returned
// grown.
func (r *Reader) readBlock(b blockInfo, dst, stored []byte) ([]byte, error) {
	stored, err := r.readStored(b, dst, stored)
	if err == nil {
		err = r.unpackBlock(b, dst, stored)
	}
	return stored, err
}

// readStored reads and checks a block for unpackBlock. One that is not packed goes to dst at once.
func (r *Reader) readStored(b blockInfo, dst, stored []byte) ([]byte, error) {
	in := dst
	if b.stored != b.raw {
		stored = slices.Grow(stored[:0], int(b.stored))[:b.stored]
		in = stored
	}
	if _, err := r.f.ReadAt(in, b.offset); err != nil {
		if err == io.EOF {
			return stored, &CorruptError{b.offset, "block lies behind the end of the file"}
		}
		return stored, fmt.Errorf("read recording at offset %d: %w", b.offset, err)
	}
	if checksum(in) != b.crc {
		return stored, &CorruptError{b.offset, fmt.Sprintf("block of %d bytes fails its checksum", b.stored)}
	}
	return stored, nil
}

// unpackBlock unpacks a block that was read.
func (r *Reader) unpackBlock(b blockInfo, dst, stored []byte) (err error) {
	switch {
	case b.stored == b.raw:
	case b.kind == rowdelta.Plain:
		err = rowdelta.Unpack(stored, dst)
	default:
		err = r.residuals().Unpack(stored, dst)
	}
	if err != nil {
		return &CorruptError{b.offset, err.Error()}
	}
	return nil
}

// hintBlocks announces the given blocks, as few runs as they make in the file. On a cold disk this
// is worth a lot: the blocks are then read in large pieces while the first are being unpacked.
func (r *Reader) hintBlocks(blocks []blockInfo) {
	const worthIt = 64 << 10 // less is read in one go anyway
	if r.hint == nil {
		return
	}
	for i := 0; i < len(blocks); {
		start := blocks[i].offset
		end := start
		for ; i < len(blocks) && blocks[i].offset == end; i++ {
			end += int64(blocks[i].stored)
		}
		if end-start > worthIt {
			r.hint(start, end-start)
		}
		if end == start {
			i++
		}
	}
}
