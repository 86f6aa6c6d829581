package activity

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	magic      = "EIDETR1\n"
	footerSize = 32
	runEvents  = 1 << 18 // events that are sorted in memory
	maxSpilled = 40      // bytes of an event in the temporary file
	maxStacks  = 1 << 22
	maxFuncs   = 1 << 20
	maxStrings = 64 << 20 // bytes of all names
)

// Writer is the sink that keeps a trace in the folder of the trace. Use it from one goroutine.
type Writer struct {
	dir    string
	info   Info
	tables tables

	most   int64 // events
	room   int   // events of a run
	buffer []pending
	runs   []run // in spill
	spill  *os.File
	size   int64 // of spill

	out    *os.File
	at     int64 // bytes of out
	zstd   *zstd.Encoder
	raw    []byte // of the last block
	packed []byte
	block  block
	now    states
	blocks []entry
	deep   map[uint32]int // open calls beyond MaxDepth, by thread
	last   []int64        // time of the last event, by thread
	latest int64          // time of an event
	full   error          // the limit of events, if it was reached
	err    error
	closed bool
}

// pending is an event with its place in the order of arrival.
type pending struct {
	Event
	order uint32
}

// before orders events by time. Slices come after others of their time, the longest first, so that
// outer ones come before inner ones.
func before(a, b *pending) int {
	if c := cmp.Compare(a.At, b.At); c != 0 {
		return c
	}
	if as, bs := a.Kind == Slice, b.Kind == Slice; as != bs {
		if as {
			return 1
		}
		return -1
	} else if as {
		if c := cmp.Compare(b.Value, a.Value); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.order, b.order)
}

// NewWriter creates a trace in a folder, which must exist. Close completes and writes what recorded
// states of the trace. A trace that reaches a limit ends there: Event then returns an error, and
// Close writes a gap until the end of the recording.
func NewWriter(dir string, recorded Info) (*Writer, error) {
	w := &Writer{dir: dir, info: recorded, most: MaxEvents, room: runEvents, latest: -maxTime, deep: map[uint32]int{}}
	skipped := map[string]int64{}
	for kind, n := range recorded.Skipped {
		skipped[kind] = n
	}
	w.info.Skipped = skipped
	w.tables.init()
	var err error
	if w.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)); err != nil {
		return nil, err
	}
	if w.out, err = os.CreateTemp(dir, IndexFile+".*"); err != nil {
		return nil, fmt.Errorf("create trace: %w", err)
	}
	w.write([]byte(magic))
	return w, nil
}

// Events returns the number of events so far.
func (w *Writer) Events() int64 { return w.info.Events }

// Skip counts a record that a reader could not use.
func (w *Writer) Skip(kind string) { w.info.Skipped[kind]++ }

// Thread implements Sink. A thread with the process, number and start of an earlier one is that
// one. Its names replace earlier ones if they are not empty.
func (w *Writer) Thread(t Thread) uint32 { return w.tables.thread(t) }

// Function implements Sink.
func (w *Writer) Function(f Function) uint32 { return w.tables.function(f) }

// Stack implements Sink. A stack of MaxDepth functions is cut.
func (w *Writer) Stack(callers, function uint32) uint32 {
	id, fault := w.tables.stack(callers, function)
	if fault != "" {
		w.Skip(fault)
	}
	return id
}

// Event implements Sink.
func (w *Writer) Event(e Event) error {
	if w.info.Events == w.most {
		w.full = cmp.Or(w.full, fmt.Errorf("write trace: more than %d events", w.most))
	}
	if w.full = cmp.Or(w.full, w.tables.full); w.full != nil || w.err != nil {
		return cmp.Or(w.err, w.full)
	}
	if kind := w.impossible(e); kind != "" {
		w.Skip(kind)
		return nil
	}
	w.keep(e)
	return w.err
}

func (w *Writer) keep(e Event) {
	w.info.Events++
	w.latest = max(w.latest, e.At)
	for int(e.Thread) >= len(w.last) {
		w.last = append(w.last, -maxTime)
	}
	w.last[e.Thread] = max(w.last[e.Thread], e.At)
	w.buffer = append(spacious(w.buffer, w.room), pending{e, uint32(len(w.buffer))})
	if len(w.buffer) >= w.room {
		w.sortRun()
		w.fail(w.spillRun())
	}
}

// impossible returns the kind of an event's fault; empty: it has none.
func (w *Writer) impossible(e Event) string {
	limits := w.tables.bounds()
	switch {
	case e.Kind == 0 || e.Kind > Lost:
		return "events of unknown kinds"
	case e.At < minTime || e.At > maxTime || lasts(e.Kind) && (e.Value < 0 || e.Value > maxTime-max(e.At, 0)),
		e.Kind == Sample && e.Value > maxPeriod:
		return "impossible times"
	case uint64(e.Thread) > limits.threads || e.Thread == 0 && e.Kind != Lost && e.Kind != Instant && e.Kind != Counter:
		return "events of unknown threads"
	case e.Kind == Return && uint64(e.Ref) > limits.functions,
		e.Kind != Return && uint64(e.Ref) > limits.of(e.Kind),
		e.Ref == 0 && (e.Kind == Call || e.Kind == Slice || e.Kind == Instant || e.Kind == Counter):
		return "events with unknown numbers"
	case e.Kind == Out && (e.Value < Waits || e.Value > Ended):
		return "unknown reasons"
	}
	return ""
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// spacious returns a list with space for one more. It copies lists that grow to a limit less often
// than append does.
func spacious[T any](all []T, most int) []T {
	if len(all) < cap(all) {
		return all
	}
	return slices.Grow(all, min(3*len(all)+1024, max(most-len(all), 1)))
}

func (w *Writer) sortRun() {
	compare := func(a, b pending) int { return before(&a, &b) }
	if !slices.IsSortedFunc(w.buffer, compare) {
		slices.SortFunc(w.buffer, compare)
	}
}

// spillRun writes the sorted events to the temporary file.
func (w *Writer) spillRun() (err error) {
	if w.spill == nil {
		if w.spill, err = os.CreateTemp(w.dir, IndexFile+".*"); err != nil {
			return fmt.Errorf("sort trace: %w", err)
		}
	}
	out := bufio.NewWriterSize(w.spill, 1<<16)
	from, last, raw := w.size, int64(0), make([]byte, 0, 64)
	for i := range w.buffer {
		e := &w.buffer[i]
		raw = binary.AppendVarint(append(raw[:0], byte(e.Kind)), e.At-last)
		raw = binary.AppendUvarint(binary.AppendUvarint(raw, uint64(e.Thread)), uint64(e.Ref))
		raw = binary.AppendVarint(raw, e.Value)
		last = e.At
		w.size += int64(len(raw))
		_, _ = out.Write(raw) // Flush returns the error
	}
	w.runs = append(w.runs, run{left: len(w.buffer), order: uint32(len(w.runs)),
		in: bufio.NewReaderSize(io.NewSectionReader(w.spill, from, w.size-from), 1<<14)})
	w.buffer = w.buffer[:0]
	if err = out.Flush(); err != nil {
		err = fmt.Errorf("sort trace: %w", err)
	}
	return err
}

// run is a sorted part of the events in the temporary file.
type run struct {
	in    *bufio.Reader
	left  int
	next  pending // order is that of the run
	order uint32
}

// read reads the next event. At the end it returns io.EOF.
func (r *run) read() error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	raw, err := r.in.Peek(maxSpilled) // fewer at the end
	at, rest := int64(0), raw
	signed := func() int64 {
		n, size := binary.Varint(rest)
		rest = rest[max(size, 0):]
		return n
	}
	unsigned := func() uint32 {
		n, size := binary.Uvarint(rest)
		rest = rest[max(size, 0):]
		return uint32(n)
	}
	if len(raw) > 0 {
		rest = raw[1:]
		at = r.next.At + signed()
		r.next = pending{Event{at, unsigned(), Kind(raw[0]), unsigned(), 0}, r.order}
		r.next.Value = signed()
		_, err = r.in.Discard(len(raw) - len(rest))
	}
	if err != nil {
		err = fmt.Errorf("sort trace: %w", err)
	}
	return err
}

// merge is a heap of runs by their next events.
type merge []*run

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, k int) bool { return before(&m[i].next, &m[k].next) < 0 }
func (m merge) Swap(i, k int)      { m[i], m[k] = m[k], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// sorted calls put for all events in order.
func (w *Writer) sorted(put func(Event)) error {
	w.sortRun()
	if len(w.runs) == 0 {
		for i := range w.buffer {
			put(w.buffer[i].Event)
		}
		return nil
	}
	if err := w.spillRun(); err != nil {
		return err
	}
	w.buffer = nil
	m := make(merge, 0, len(w.runs))
	for i := range w.runs {
		switch err := w.runs[i].read(); {
		case err == nil:
			m = append(m, &w.runs[i])
		case err != io.EOF:
			return err
		}
	}
	heap.Init(&m)
	for len(m) > 0 && w.err == nil {
		put(m[0].next.Event)
		switch err := m[0].read(); {
		case err == io.EOF:
			heap.Pop(&m)
		case err != nil:
			return err
		case len(m) > 1 && m.Less(1, 0) || len(m) > 2 && m.Less(2, 0):
			heap.Fix(&m, 0)
		}
	}
	return nil
}

// put adds the next event in order. Calls and slices become nested.
func (w *Writer) put(e Event) {
	if e.Thread > 0 {
		of := w.now.get(e.Thread)
		w.now.opens -= len(of.Calls)
		of.end(e.At)
		w.now.opens += len(of.Calls)
		switch e.Kind {
		case Call, Slice:
			if len(of.Calls) >= MaxDepth || w.now.opens >= maxOpens {
				if w.Skip("functions beyond the depth"); e.Kind == Call {
					w.deep[e.Thread]++
				}
				return
			}
			for _, outer := range of.Calls {
				if e.Kind == Slice && outer.End < e.At+e.Value {
					w.Skip("slices that end after outer ones")
					e.Value = outer.End - e.At
				}
			}
		case Return:
			if w.deep[e.Thread] > 0 {
				w.deep[e.Thread]--
				return
			}
			k := of.caller(e.Ref)
			if k < 0 {
				w.Skip("returns without a call")
				return
			}
			for inner := of.innermost(); inner > k; inner = of.innermost() {
				w.Skip("calls that returned with an outer one")
				w.append(Event{e.At, e.Thread, Return, of.Calls[inner].Function, 1})
			}
		}
	}
	w.append(e)
	if e.Thread > 0 && e.At == w.last[e.Thread] && w.now.get(e.Thread).On == OnCPU { // it may have ended
		w.append(Event{At: e.At, Thread: e.Thread, Kind: Out, Value: Ended})
	}
}

// append adds an event to the block.
func (w *Writer) append(e Event) {
	if n := len(w.block.events); n == blockEvents || n > 0 && e.At-w.block.begin >= blockSpan {
		w.flush()
	}
	if len(w.block.events) == 0 {
		w.block.begin = e.At
		w.block.states = w.now.busy(e.At)
	}
	w.block.events = append(spacious(w.block.events, blockEvents), e)
	w.now.step(e)
}

func (w *Writer) flush() {
	n := len(w.block.events)
	if n == 0 {
		return
	}
	at := w.at
	w.raw = w.block.append(w.raw[:0])
	w.writeFrame(w.raw)
	w.blocks = append(w.blocks, entry{at: at, size: w.at - at, first: w.block.begin, last: w.block.events[n-1].At})
	w.block.events = w.block.events[:0]
}

func (w *Writer) writeFrame(raw []byte) {
	w.packed = w.zstd.EncodeAll(raw, w.packed[:0])
	w.write(w.packed)
}

func (w *Writer) write(b []byte) {
	n, err := w.out.Write(b)
	if w.at += int64(n); err != nil {
		w.fail(fmt.Errorf("write trace: %w", err))
	}
}

// Close writes the index and trace.json. It returns the info with its counts. A trace with an error
// has no files.
func (w *Writer) Close() (Info, error) {
	if w.closed {
		return w.info, w.err
	}
	w.closed = true
	w.full = cmp.Or(w.full, w.tables.full)
	if gap := w.info.EndNS - w.latest; w.full != nil && gap > 0 && w.info.Events > 0 {
		w.keep(Event{At: w.latest, Kind: Lost, Value: gap})
	}
	if w.err == nil {
		first, last, written := int64(0), int64(0), int64(0)
		w.fail(w.sorted(func(e Event) {
			if written == 0 {
				first = e.At
			}
			if written++; e.Kind == Slice {
				last = max(last, e.At+e.Value)
			}
			last = max(last, e.At)
			if e.Kind == Lost {
				w.info.Lost += max(1, int64(e.Ref))
			}
			w.put(e)
		}))
		if w.flush(); w.info.BeginNS == 0 && w.info.EndNS == 0 {
			w.info.BeginNS, w.info.EndNS = first, last
		}
		w.finish()
	}
	if w.spill != nil {
		w.fail(errors.Join(w.spill.Close(), os.Remove(w.spill.Name())))
	}
	w.fail(w.out.Close())
	if w.err == nil {
		w.fail(os.Rename(w.out.Name(), filepath.Join(w.dir, IndexFile)))
	}
	if w.err == nil {
		w.err = w.info.Write(w.dir)
	}
	if w.err != nil {
		_ = os.Remove(w.out.Name()) // the first error matters
	}
	w.tables, w.buffer, w.block, w.now, w.raw, w.packed = tables{}, nil, block{}, states{}, nil, nil
	return w.info, w.err
}

// finish writes the tables, the directory and the footer.
func (w *Writer) finish() {
	tablesAt := w.at
	w.writeFrame(w.tables.append(nil))
	directoryAt := w.at
	w.writeFrame(appendDirectory(nil, w.blocks))
	footer := binary.LittleEndian.AppendUint64(nil, uint64(tablesAt))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(directoryAt))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(w.blocks)))
	footer = binary.LittleEndian.AppendUint32(footer, crc32.Checksum(footer, crc32.MakeTable(crc32.Castagnoli)))
	w.write(append(footer, magic...))
}
