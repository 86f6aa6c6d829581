package recording

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Options of a recording that is about to be written. The zero value is good.
type Options struct {
	Force     bool           // overwrite an existing file
	OwnClock  bool           // times are the source's own, not the rig's
	Workers   int            // goroutines that compress; 0: one per CPU
	SyncEvery time.Duration  // how much may be lost when the program is killed or the power fails; 0: 500 ms
	NoDirect  bool           // write through the page cache
	Clock     timeline.Clock // 0: the rig's
	Program   string         // name and version of the program, for the file's header
	ID        [16]byte       // of the recording; 0: random

	wallOffset int64 // as in committer
}

const (
	checkpointEvery  = timeline.Time(time.Second) // of recorded time
	checkpointFrames = 256
	restoreEvery     = timeline.Time(time.Minute)
	restoreAtLast    = 15 * restoreEvery
	fragmentation    = 3 // a checkpoint may need blocks of this many frames before all rows are stored anew
	jobsInFlight     = 8
)

// Stats are a writer's counts so far.
type Stats struct {
	Frames      uint64 // stored
	Unique      uint64 // of these, frames that look different from the one before; the first counts
	Gaps        uint64 // gap records
	Missing     uint64 // frames that they explain
	Events      uint64
	Segments    uint64
	Checkpoints uint64
	BytesIn     int64 // of pixels
	BytesOut    int64 // of file
	RawBlocks   uint64
	Blocks      uint64
	Direct      bool   // writes bypass the page cache
	DirectNote  string // why not
	Durable     int64  // bytes of file known to be on disk
}

// Writer writes a recording. Frames, gaps and segments come from one goroutine. Events, metadata,
// pressure and stats may come from any. After the first disk error, every later call returns it.
// The records written before it remain valid.
type Writer struct {
	path string
	file storage
	opts Options
	sink *sink

	mu       sync.Mutex // planning; held while the disk is waited for
	closed   bool
	closeErr error
	expected *expected // nil: unknown
	layout   *frame.Layout
	encoder  *rowdelta.Encoder
	prev     *pixels
	number   uint64 // of the next frame
	segment  uint64 // number of the current one
	inSeg    uint64 // frames in it
	block    int64  // number of the next block
	gapped   bool   // a gap stands before the next frame
	blocks   liveBlocks
	restored timeline.Time // when all rows were last stored
	changed  int64         // bytes of pixels stored since
	checked  timeline.Time // when the last checkpoint was taken
	since    int           // frames since then
	scratch  []byte
	pressure atomic.Uint64 // acceleration

	jobs    chan *job
	pixels  chan *pixels
	ordered chan *job
	flush   chan struct{}
	pack    packers
	scan    rowScan
	wg      sync.WaitGroup

	stats writerStats
}

type writerStats struct {
	frames, unique, gaps, missing, events, segments, checkpoints, blocks, rawBlocks atomic.Uint64
	bytesIn, bytesOut                                                               atomic.Int64
}

// errClosed is returned by a writer that was closed.
var errClosed = os.ErrClosed

// Create starts a recording in a new file.
func Create(path string, o Options) (*Writer, error) {
	f, err := createFile(path, o.Force, o.NoDirect)
	if err != nil {
		return nil, err
	}
	w := newWriter(f, o)
	w.path = path
	return w, nil
}

// newWriter starts a recording on empty storage.
func newWriter(to storage, o Options) *Writer {
	return startWriter(to, o, nil)
}

// startWriter starts a recording with the given header, or with one of its own.
func startWriter(to storage, o Options, header *fileHeader) *Writer {
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = 500 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = timeline.Monotonic()
	}
	if o.ID == [16]byte{} {
		rand.Read(o.ID[:]) // never fails: see crypto/rand
	}
	w := &Writer{
		file: to, opts: o,
		jobs:    make(chan *job, jobsInFlight),
		pixels:  make(chan *pixels, jobsInFlight+2),
		ordered: make(chan *job, jobsInFlight),
		flush:   make(chan struct{}, 1),
	}
	for range jobsInFlight {
		w.jobs <- &job{ready: make(chan struct{}, 1)}
	}
	for range cap(w.pixels) {
		w.pixels <- &pixels{home: w.pixels}
	}
	w.pressure.Store(rowdelta.Thorough)
	w.pack.tasks = make(chan task, 4*o.Workers)
	w.pack.chunks = make(chan []byte)
	w.sink = newSink(to, 0, bufferSize)
	w.scan.start(min(o.Workers-1, maxScanners))

	if header == nil {
		offset, width := timeline.WallOffset(o.Clock)
		header = &fileHeader{
			id: o.ID, codec: codecResidual, ownClock: o.OwnClock, writer: o.Program,
			created: int64(o.Clock.Now()) + offset, wallOffset: offset, wallWidth: int64(width),
		}
	}
	c := newCommitter(w, header)
	c.wallOffset = o.wallOffset
	w.wg.Go(c.run)
	return w
}

// SetPressure sets the recorder's pressure: 0 to 1, at which it loses frames. Compression gets
// faster, then is left out.
func (w *Writer) SetPressure(p float64) { w.pressure.Store(uint64(rowdelta.Acceleration(p))) }

// Stats returns the counts so far.
func (w *Writer) Stats() Stats {
	s := &w.stats
	st := Stats{
		Frames: s.frames.Load(), Unique: s.unique.Load(), Gaps: s.gaps.Load(), Missing: s.missing.Load(),
		Events: s.events.Load(), Segments: s.segments.Load(), Checkpoints: s.checkpoints.Load(),
		Blocks: s.blocks.Load(), RawBlocks: s.rawBlocks.Load(),
		BytesIn: s.bytesIn.Load(), BytesOut: s.bytesOut.Load(), Durable: w.sink.durable.Load(),
	}
	if f, ok := w.file.(*diskFile); ok {
		st.DirectNote = *f.note.Load()
		st.Direct = st.DirectNote == ""
	}
	return st
}

// begin locks the writer for a call that plans a record.
func (w *Writer) begin() error {
	w.mu.Lock()
	if w.closed {
		return fmt.Errorf("recording: %w", errClosed)
	}
	return w.sink.error()
}

// Segment sets the format of the next frames. The period is the nominal time from frame to
// frame as a fraction of seconds, 0/0 where unknown.
func (w *Writer) Segment(f frame.Format, periodNum, periodDen int64) error {
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	layout, err := frame.NewLayout(f)
	if err != nil {
		return err
	}
	if f.Stride > maxBlockRaw {
		return fmt.Errorf("record %v: rows of %d bytes, limit %d", f, f.Stride, maxBlockRaw)
	}
	w.releaseLast()
	w.resize(layout)
	w.layout, w.encoder = layout, rowdelta.NewEncoder(layout)
	w.scan.format(layout)
	w.inSeg, w.since = 0, 0
	w.blocks.reset()
	w.segment = w.stats.segments.Add(1) - 1

	j := <-w.jobs
	head := segmentHead{w.segment, w.number, f, [2]int64{periodNum, periodDen}}
	j.typ, j.head = typeSegment, head.append(j.head[:0])
	w.ordered <- j
	return nil
}

// resize makes room for packed blocks of a layout. Everything in flight is awaited first.
func (w *Writer) resize(l *frame.Layout) {
	var idle [jobsInFlight]*job
	for i := range idle {
		idle[i] = <-w.jobs
	}
	close(w.pack.tasks) // the workers of the last segment end
	w.pack.tasks = make(chan task, 4*w.opts.Workers)
	longest, widest := rowdelta.BlockSize, 0
	for _, r := range l.Rows {
		longest, widest = max(longest, r.Bytes), max(widest, r.Bytes)
	}
	// All blocks of one frame must find room while those of the next are being packed. A block is
	// closed when the next span would not fit, so it is full but for one row.
	least := rowdelta.BlockSize / 2
	if longest == rowdelta.BlockSize {
		least = max(least, rowdelta.BlockSize-widest)
	}
	n := 2*(l.Size/least+2) + w.opts.Workers
	w.pack.chunks = make(chan []byte, n)
	for range n {
		w.pack.chunks <- make([]byte, 0, rowdelta.PackBound(longest))
	}
	for range w.opts.Workers {
		p := w.pack
		w.wg.Go(func() { p.run(longest) })
	}
	for _, j := range idle {
		w.jobs <- j
	}
}

// Ahead announces the pixels of up to MaxAhead frames that WriteFrame gets next, in that order.
// They must not change until then. Comparing frames together is faster than one by one. It has no
// other effect.
func (w *Writer) Ahead(pixels [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.prev == nil {
		return
	}
	n := 0
	for n < min(len(pixels), MaxAhead) && len(pixels[n]) == w.layout.Size {
		n++
	}
	if n > 0 {
		w.scan.compare(w.prev.b, pixels[:n], w.encoder.Shift())
	}
}

// WriteFrame stores the next frame of the segment. pix stays in use until owner is released, which
// also happens where an error is returned; a nil owner means that pix is never written to again.
func (w *Writer) WriteFrame(pix []byte, m frame.Meta, owner Owner) error {
	return w.WriteFrameChange(pix, m, owner, nil)
}

// WriteFrameChange is WriteFrame, and fills c with the frame's difference from the previous one.
// The spans are those that a reader of the recording reports. A nil c is not filled.
func (w *Writer) WriteFrameChange(pix []byte, m frame.Meta, owner Owner, c *frame.Change) error {
	defer w.mu.Unlock()
	err := w.begin()
	switch {
	case err != nil:
	case w.layout == nil:
		err = errors.New("frame before the first segment")
	case len(pix) != w.layout.Size:
		err = fmt.Errorf("frame of %d bytes, want %d for %v", len(pix), w.layout.Size, w.layout.Format)
	case !m.Sampled.Valid() || m.Sampled.Width() < 0 || m.Sampled.Width() > 1<<62:
		err = fmt.Errorf("frame %d was sampled from %d to %d ns, which is backwards or endless", w.number,
			m.Sampled.Earliest, m.Sampled.Latest)
	}
	if err != nil {
		if owner != nil {
			owner.Release()
		}
		return err
	}
	p := <-w.pixels
	p.b, p.owner = pix, owner
	p.refs.Store(1)
	w.planFrame(p, m, c)
	return nil
}

// Flush lets the written bytes reach the file soon, before the next regular sync. A reader that
// opens the file then finds them. Flush does not wait. It may be called from any goroutine.
func (w *Writer) Flush() {
	select {
	case w.flush <- struct{}{}:
	default: // one is on its way
	}
}

func (w *Writer) planFrame(p *pixels, m frame.Meta, c *frame.Change) {
	m.Flags &^= frame.FlagGapBefore
	if w.gapped {
		m.Flags |= frame.FlagGapBefore
		w.gapped = false
	}
	j := <-w.jobs
	var prev []byte
	if w.prev != nil {
		prev = w.prev.b
	}
	var scan *rowdelta.Scan
	if prev != nil {
		scan = w.scan.of(prev, p.b, w.encoder.Shift())
	}
	w.encoder.SetWide(w.pressure.Load() == rowdelta.Thorough)
	hash := w.encoder.EncodeScanned(prev, p.b, scan, &j.delta, w.block)
	if c != nil {
		j.delta.Change(c)
	}
	w.prev.release()
	w.prev = p
	if w.inSeg == 0 || j.delta.Changed() {
		w.stats.unique.Add(1)
	}
	j.typ, j.meta, j.number = typeFrame, m, w.number
	j.head, w.scratch = appendFrameHead(j.head[:0], w.number, w.segment, &m, hash, &j.delta, w.scratch)
	w.changed += int64(j.delta.Raw)
	w.submitBlocks(j, p)

	w.stats.frames.Add(1)
	w.stats.bytesIn.Add(int64(len(p.b)))
	if w.inSeg == 0 {
		w.restored, w.checked, w.changed = m.Sampled.Earliest, m.Sampled.Earliest, 0
	}
	w.number++
	w.inSeg++
	w.since++
	if w.since >= checkpointFrames || m.Sampled.Earliest-w.checked >= checkpointEvery {
		w.checkpoint(p, m.Sampled.Earliest, hash)
	}
}

// submitBlocks hands a job with a delta to the packers and the committer.
func (w *Writer) submitBlocks(j *job, p *pixels) {
	j.layout, j.firstBlock, j.acceleration = w.layout, w.block, int(w.pressure.Load())
	j.blocks = j.delta.Blocks(j.blocks[:0])
	j.packed = j.packed[:0]
	for i := range j.blocks {
		j.packed = append(j.packed, packedBlock{})
		w.blocks.add(w.block+int64(i), j.blocks[i].Raw)
	}
	w.block += int64(len(j.blocks))
	n := len(j.blocks)
	if n == 0 {
		w.ordered <- j
		return
	}
	p.retain()
	j.pix = p
	j.pending.Store(int32(n))
	w.ordered <- j
	for i := range n {
		w.pack.tasks <- task{j, int32(i), <-w.pack.chunks}
	}
}

// restoreDue reports whether all rows should be stored once more only because the last time is long
// ago. Where less has changed since than that would cost, a still screen above all, it can wait
// much longer.
func (w *Writer) restoreDue(now timeline.Time) bool {
	age := now - w.restored
	return age >= restoreEvery && w.changed >= int64(w.layout.Size) || age >= restoreAtLast
}

// intact compares the last frame with its encoded hash, and fails the recording if they differ.
func (w *Writer) intact() bool {
	if w.prev == nil || w.encoder.Intact(w.prev.b) {
		return true
	}
	w.sink.fail(fmt.Errorf("frame %d changed while it was recorded: its source or bad memory wrote to it", w.number-1))
	return false
}

// releaseLast releases the last frame, at the end of a segment.
func (w *Writer) releaseLast() {
	w.intact()
	w.prev.release()
	w.prev = nil
}

// checkpoint plans a table of the places of the last frame's rows. All rows are stored again before
// it in two cases: after a minute, or when the rows are spread over too many blocks.
func (w *Writer) checkpoint(p *pixels, now timeline.Time, hash uint64) {
	if !w.intact() {
		return
	}
	live, raw := w.blocks.keep(w.encoder.Places(), len(w.layout.Rows))
	if w.restoreDue(now) || raw > fragmentation*w.layout.Size {
		w.restored, w.changed = now, 0
		j := <-w.jobs
		w.encoder.Restore(p.b, &j.delta, w.block)
		j.typ, j.head = typeRows, j.head[:0]
		w.submitBlocks(j, p)
		live, _ = w.blocks.keep(w.encoder.Places(), len(w.layout.Rows))
	}
	w.table(live, now, hash)
}

// table plans a checkpoint of the last frame. The live blocks hold its rows.
func (w *Writer) table(live []int64, now timeline.Time, hash uint64) {
	j := <-w.jobs
	j.typ = typeCheckpoint
	head := checkpointHead{number: w.number - 1, hash: hash}
	j.head = head.append(j.head[:0])
	j.live = append(j.live[:0], live...)
	j.layout = w.layout
	if j.places == nil || !j.places.Of(w.layout) {
		j.places = rowdelta.NewPlaces(w.layout)
	}
	j.places.CopyFrom(w.encoder.Places())
	w.ordered <- j
	w.checked, w.since = now, 0
	w.stats.checkpoints.Add(1)
}

// Gap records that frames are missing before the next one.
func (w *Writer) Gap(g frame.Gap) error {
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	if g.Count == 0 || g.Count > maxGapFrames || g.First > maxGapFirst || !g.At.Valid() { // no reader takes it
		return fmt.Errorf("record gap of %d frames from %d at %v: out of range", g.Count, g.First, g.At)
	}
	j := <-w.jobs
	head := gapHead{w.number, g}
	j.typ, j.head = typeGap, head.append(j.head[:0])
	w.ordered <- j
	w.gapped = true
	w.stats.gaps.Add(1)
	w.stats.missing.Add(g.Count)
	return nil
}

// Event records something that happened beside the frames.
func (w *Writer) Event(e timeline.Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	w.value(typeEvent, &e)
	w.stats.events.Add(1)
	return nil
}

// maxMetadata is how many bytes of JSON one metadata value may have.
const maxMetadata = 16 << 20

// Metadata records a named JSON value that belongs to the recording as a whole. A later value of
// the same name replaces it.
func (w *Writer) Metadata(name string, value json.RawMessage) error {
	e := timeline.Event{Kind: name}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("metadata name: %w", err)
	}
	if len(value) > maxMetadata || !json.Valid(value) {
		return fmt.Errorf("metadata %q: not JSON, or %d bytes and more than %d", name, len(value), maxMetadata)
	}
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	e.Data = value
	w.value(typeMetadata, &e)
	return nil
}

func (w *Writer) value(t recordType, e *timeline.Event) {
	j := <-w.jobs
	head := valueHead{event: *e}
	j.typ, j.head = t, head.append(j.head[:0])
	j.data = append(j.data[:0], e.Data...)
	w.ordered <- j
}

// Expect sets the numbers of the first and last frame that must be recorded, and the end of their
// time. Call it before Close. It matters after a disk error: frames that the file does not hold are
// then recorded as a last gap, if it has room for one.
func (w *Writer) Expect(first, last uint64, until timeline.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = &expected{first, last, until}
}

// Close ends the recording and waits until all of it is on disk. It is idempotent and returns the
// first error there was. After an error the file is cut back to its last whole record.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.closeErr
	}
	w.closed = true
	w.releaseLast()
	j := <-w.jobs
	j.done = make(chan error, 1)
	w.ordered <- j
	err := <-j.done
	close(w.pack.tasks)
	w.scan.stop()
	w.wg.Wait()
	if cerr := w.file.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close recording: %w", cerr)
	}
	if err != nil && w.path != "" {
		if _, rerr := repairFile(w.path, w.expected); rerr != nil {
			err = fmt.Errorf("%w (and the torn end could not be cut off: %v)", err, rerr)
		}
	}
	w.closeErr = err
	return err
}
