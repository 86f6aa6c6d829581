// Package perfetto reads traces in Perfetto's protobuf format, such as those of Chromium and
// Android. Track events become records as in package chrome, and the kernel's switches and wakes
// become states of threads. Frames of displays become claims, and losses become gaps.
//
// Records have the time of CLOCK_MONOTONIC, if the trace has snapshots of it. After a sleep of the
// device, times go on as those of CLOCK_BOOTTIME do. Events of tracks that are not threads are left
// out. So are other records of the format.
package perfetto

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
)

const (
	maxPacket    = 16 << 20
	maxTime      = 1 << 60 // ns
	maxSequences = 65_536
	maxNames     = 64 << 20 // bytes of all names, tracks and clocks
	perName      = 64       // bytes of one without its text
	maxInflated  = 8 << 30  // bytes of compressed packets
)

// Begins reports whether a file with this begin can be a trace.
func Begins(begin []byte) bool {
	number, kind, n := protowire.ConsumeTag(begin)
	if n < 0 || number != packetOfTrace || kind != protowire.BytesType {
		return false
	}
	size, m := protowire.ConsumeVarint(begin[n:])
	if m < 0 || size == 0 || size > maxPacket {
		return false
	}
	number, kind, n = protowire.ConsumeTag(begin[n+m:])
	return n > 0 && number < 2000 && kind != protowire.StartGroupType && kind != protowire.EndGroupType
}

type reader struct {
	to        activity.Sink
	events    *chrome.Events
	claims    *activity.Claims
	sequences map[uint64]*sequence
	tracks    map[uint64]*track
	clocks    map[uint64]int64 // CLOCK_MONOTONIC minus each clock of the machine
	base      uint64           // clock of the records; 0: not known yet
	kept      int              // bytes of names, tracks and clocks
	inflated  int64
	z         io.ReadCloser // of compressed packets
	unpacked  *bufio.Reader
	last      struct { // result of place
		track           uint64
		process, thread int32
	}

	stated losses // of all writers
	sched  scheduling

	compositor map[uint64]int    // open slices of compositors' frames, by track
	begun      map[uint64]actual // by cookie
	frames     []actual
}

// track is a thread, a process, or a part of one.
type track struct {
	process, thread int32
	parent          uint64
	name            string
	real            bool // it is of a thread
}

// sequence is the state of packets of one writer.
type sequence struct {
	valid        bool // names are known
	kept         int
	names        [4]map[uint64][]byte
	clock, track uint64
	clocks       map[uint64]*clock // of this sequence
	lost         losing
}

// clock is a clock of a sequence.
type clock struct {
	value, unit int64
	adds        bool
	offset      int64 // to CLOCK_MONOTONIC, in ns
}

// Kinds of interned names.
const (
	categories = iota
	names
	annotations
	texts
)

// Read reads a trace. Damaged records are skipped and counted. The error is that of the sink, or of
// a file without a trace.
func Read(from io.Reader, to activity.Sink) (*activity.Claims, error) {
	r := &reader{to: to, events: chrome.NewEvents(to), sequences: map[uint64]*sequence{}, tracks: map[uint64]*track{},
		clocks: map[uint64]int64{}, compositor: map[uint64]int{}, begun: map[uint64]actual{},
		sched: scheduling{tasks: map[int32]*task{}, cpus: map[uint64]*processor{}}}
	r.claims = r.events.Claims()
	r.claims.Engine, r.claims.Resolution = "perfetto", 1000
	err := r.packets(bufio.NewReaderSize(from, 256<<10), 0)
	if errors.Is(err, io.ErrUnexpectedEOF) && r.claims.Records > 0 {
		r.claims.Truncated, err = true, nil
	}
	if err == nil && r.claims.Records == 0 {
		err = errors.New("it has no packets")
	}
	if err != nil {
		return nil, fmt.Errorf("read Perfetto trace: %w", err)
	}
	r.claims.Monotonic = r.base == monotonic && r.claims.Slept == 0
	if offset, ok := r.clocks[realtime]; ok && r.base == monotonic {
		r.claims.Wall, r.claims.WallWithin = -offset, 1e9
	}
	r.claims.Frames = r.displayed()
	return r.claims, errors.Join(r.schedRest(), r.loseRest(), r.events.Close())
}

// errDamaged is wrapped where packets cannot be separated.
var errDamaged = errors.New("damaged trace")

// packets reads packets until the end.
func (r *reader) packets(from *bufio.Reader, depth int) error {
	var buffer []byte
	for {
		tag, err := binary.ReadUvarint(from)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType {
			return fmt.Errorf("%w: field %d has the type %d", errDamaged, number, kind)
		}
		size, err := binary.ReadUvarint(from)
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if number != packetOfTrace || size > maxPacket {
			if number == packetOfTrace {
				r.claims.Skip("long records")
			}
			if n, err := io.CopyN(io.Discard, from, int64(min(size, 1<<62))); err != nil || uint64(n) < size {
				return io.ErrUnexpectedEOF
			}
			continue
		}
		raw, err := from.Peek(min(int(size), from.Size()))
		if int(size) > len(raw) && err == nil {
			// The buffer grows with the bytes that are there, not with the stated size.
			b := bytes.NewBuffer(buffer[:0])
			_, err = io.CopyN(b, from, int64(size))
			buffer = b.Bytes()
			raw = buffer
		} else if err == nil {
			_, err = from.Discard(len(raw))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if r.claims.Records++; r.claims.Records > activity.MaxEvents {
			return fmt.Errorf("over %d records", activity.MaxEvents)
		}
		if err := r.packet(raw, depth); err != nil {
			return err
		}
	}
}

// packet has the fields of a packet that matter.
type packet struct {
	time, clock, sequence, flags         uint64
	timed, clocked                       bool
	event, interned, defaults, track     []byte
	frame                                []byte
	snapshot, process, thread, packed    []byte
	metadata, stats, kernelStats         []byte
	kernel, tree                         []byte
	dropped, first                       bool
	isEvent, isSnapshot, isPacked, clear bool
}

func (p *packet) read(raw []byte) bool {
	return fields(raw, func(f field) {
		switch f.number {
		case packetTime:
			p.time, p.timed = f.n, true
		case packetClock:
			p.clock, p.clocked = f.n, true
		case packetSequence:
			p.sequence = f.n
		case packetFlags:
			p.flags = f.n
		case packetCleared:
			p.clear = f.n == 1
		case packetEvent:
			p.event, p.isEvent = f.bytes, true
		case packetInterned:
			p.interned = f.bytes
		case packetDropped:
			p.dropped = f.n == 1
		case packetFirst:
			p.first = f.n == 1
		case packetStats:
			p.stats = f.bytes
		case packetKernelStat:
			p.kernelStats = f.bytes
		case packetKernel:
			p.kernel = f.bytes
		case packetTree:
			p.tree = f.bytes
		case packetDefaults:
			p.defaults = f.bytes
		case packetTrack:
			p.track = f.bytes
		case packetSnapshot:
			p.snapshot, p.isSnapshot = f.bytes, true
		case packetProcess:
			p.process = f.bytes
		case packetThread:
			p.thread = f.bytes
		case packetMetadata:
			p.metadata = f.bytes
		case packetFrame:
			p.frame = f.bytes
		case packetCompressed:
			p.packed, p.isPacked = f.bytes, true
		}
	})
}

// Bits of a packet's flags.
const (
	flagCleared = 1
	flagNeeds   = 2
)

func (r *reader) packet(raw []byte, depth int) error {
	var p packet
	if !p.read(raw) {
		r.claims.Skip("malformed packets")
		return nil
	}
	if p.isPacked {
		return r.unpack(p.packed, depth)
	}
	s := r.sequences[p.sequence]
	if s == nil {
		if len(r.sequences) >= maxSequences {
			r.claims.Skip("packets of too many writers")
			return nil
		}
		s = &sequence{clocks: map[uint64]*clock{}}
		r.sequences[p.sequence] = s
	}
	if p.clear || p.flags&flagCleared != 0 {
		r.kept -= s.kept
		*s = sequence{valid: true, clocks: map[uint64]*clock{}, lost: s.lost}
	}
	s.lost.dropped = s.lost.dropped || p.dropped && !p.first
	r.stated.firsts = r.stated.firsts || p.first
	if p.stats != nil {
		r.stated.read(p.stats)
	}
	if p.kernelStats != nil {
		r.stated.kernelStats(p.kernelStats)
	}
	if p.tree != nil {
		r.tree(p.tree)
	}
	if p.kernel != nil {
		return r.bundle(s, p.kernel)
	}
	if p.isSnapshot {
		r.snapshot(s, p.snapshot)
	}
	if p.defaults != nil {
		s.defaults(p.defaults)
	}
	if p.interned != nil && !r.intern(s, p.interned) {
		r.claims.Skip("malformed names")
	}
	if p.track != nil {
		r.describe(p.track)
	}
	if p.metadata != nil && r.claims.Target == "" {
		fields(p.metadata, func(f field) {
			if f.number == metadataBrowser && len(f.bytes) < activity.MaxName {
				r.claims.Target = string(f.bytes)
			}
		})
	}
	if !p.isEvent && p.frame == nil {
		return nil
	}
	// Times are differences, so each one counts, also of events that are skipped.
	at, ok := r.time(s, &p)
	if ok {
		if err := r.lose(s, at); err != nil {
			return err
		}
	}
	switch {
	case p.flags&flagNeeds != 0 && !s.valid:
		r.claims.Skip("records without names")
	case !ok:
		r.claims.Skip("records of unknown clocks")
	case p.frame != nil:
		r.frameEvent(p.frame, at)
	default:
		return r.event(s, &p, at)
	}
	return nil
}

// unpack reads compressed packets.
func (r *reader) unpack(raw []byte, depth int) error {
	if depth > 0 {
		r.claims.Skip("malformed packets")
		return nil
	}
	if r.inflated >= maxInflated {
		r.claims.Skip("compressed packets beyond the limit")
		return nil
	}
	var err error
	if r.z == nil {
		r.z, err = zlib.NewReader(bytes.NewReader(raw))
		r.unpacked = bufio.NewReaderSize(nil, 64<<10)
	} else {
		err = r.z.(zlib.Resetter).Reset(bytes.NewReader(raw), nil)
	}
	if err == nil {
		limited := &io.LimitedReader{R: r.z, N: maxPacket}
		r.unpacked.Reset(limited)
		err = r.packets(r.unpacked, depth+1)
		r.inflated += maxPacket - limited.N
		var corrupt flate.CorruptInputError
		if !errors.Is(err, errDamaged) && !errors.Is(err, zlib.ErrChecksum) && !errors.Is(err, io.ErrUnexpectedEOF) &&
			!errors.As(err, &corrupt) {
			return err
		}
	}
	r.claims.Skip("malformed packets")
	return nil
}

// describe reads the description of a track.
func (r *reader) describe(raw []byte) {
	var id uint64
	t := &track{}
	fields(raw, func(f field) {
		switch f.number {
		case trackID:
			id = f.n
		case trackParent:
			t.parent = f.n
		case trackName, trackStatic:
			t.name = text(f.bytes)
		case trackThread:
			t.real = true
			fields(f.bytes, func(f field) {
				switch f.number {
				case threadProcess:
					t.process = int32(f.n)
				case threadID:
					t.thread = int32(f.n)
				case threadName:
					t.name = text(f.bytes)
				}
			})
		case trackProcess:
			fields(f.bytes, func(f field) {
				switch f.number {
				case processID:
					t.process = int32(f.n)
				case processName:
					r.name("process_name", t.process, 0, program(text(f.bytes)))
				}
			})
		}
	})
	if r.tracks[id] == nil && !r.keep(nil, len(t.name)+2*perName) {
		r.claims.Skip("tracks beyond the limit")
		return
	}
	r.tracks[id] = t
	r.last.track = 0
	if of := r.task(t.thread, ""); t.real && of != nil && of.process == 0 {
		of.process = t.process
	}
	if t.real && t.name != "" {
		r.name("thread_name", t.process, t.thread, t.name)
	}
}

// keep counts bytes that are kept, of a sequence or of all. It reports whether they may be.
func (r *reader) keep(s *sequence, bytes int) bool {
	if r.kept+bytes > maxNames {
		return false
	}
	if r.kept += bytes; s != nil {
		s.kept += bytes
	}
	return true
}

// text returns a name with at most twice the length that is kept.
func text(raw []byte) string { return string(raw[:min(len(raw), 2*activity.MaxName)]) }

// name passes on the name of a thread or process.
func (r *reader) name(kind string, process, thread int32, name string) {
	_ = r.events.Add(&chrome.Event{Phase: 'M', Name: quote([]byte(kind)), Process: process, Thread: thread,
		Args: append(append([]byte(`{"name":`), quote([]byte(name))...), '}')}) // names make no record
}

// place returns the thread of a track. Of a track that is not a thread, the thread is 0.
func (r *reader) place(id uint64) (process, thread int32) {
	if last := &r.last; last.track != id || id == 0 {
		last.process, last.thread = r.find(id)
		last.track = id
	}
	return r.last.process, r.last.thread
}

func (r *reader) find(id uint64) (process, thread int32) {
	t := r.tracks[id]
	for n := 0; t != nil && n < 16; n++ {
		if t.process != 0 {
			return t.process, t.thread
		}
		t = r.tracks[t.parent]
		if t != nil && t.real {
			return t.process, 0
		}
	}
	return 0, 0
}

// program returns the name of a process from its command line.
func program(name string) string {
	path, arguments, _ := strings.Cut(name, " ")
	if !strings.HasPrefix(path, "/") {
		return name
	}
	name = path[strings.LastIndexByte(path, '/')+1:]
	if _, kind, ok := strings.Cut(arguments, "--type="); ok {
		kind, _, _ = strings.Cut(kind, " ")
		name += " " + kind
	}
	return name
}
