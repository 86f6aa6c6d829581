package sockets

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
)

const (
	magic      = "EIDSOCK\x01"
	recordSize = 136
	maxBytes   = 8 << 30
	maxRecords = 4_000_000 // calls, arrivals and gaps of a table
	maxSockets = 1 << 20
	maxTime    = 1 << 61
)

// Record is a record of a raw file.
type Record struct {
	Kind           Kind
	Name           Name
	Flags          Flags
	_              uint8
	FD             int32 // -1: none
	Begin, End     int64
	Result         int64 // of a call; of a gap the number of lost records
	Process, ID    int32 // of the thread
	Start          int64 // of the thread
	Inode          uint64
	Family, Type   uint16
	Local, Remote  Address
	Sequence       uint32   // of TCP: of the next byte that is read, or of an arrival that comes
	Origin         uint32   // of TCP: of the stream's first byte
	Thread, Leader [16]byte // names of the thread and of its process
}

// Kind is the kind of a record.
type Kind uint8

// The kinds.
const (
	IsCall    Kind = 'C'
	IsArrival Kind = 'A' // of bytes at a socket, at Begin
	IsGap     Kind = 'L' // of lost records, whose number is Result
	isEnd     Kind = 'E' // Begin and End are those of the recording
)

// Address is an address of the internet. Port 0 is an unknown address.
type Address struct {
	IP   [16]byte
	Port uint16
}

// AddressOf returns an address for a record.
func AddressOf(a netip.AddrPort) Address {
	if !a.IsValid() {
		return Address{}
	}
	return Address{a.Addr().As16(), a.Port()}
}

func (a Address) known() netip.AddrPort {
	if a.Port == 0 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.AddrFrom16(a.IP).Unmap(), a.Port)
}

// ErrLimit is returned by a [Writer] whose file has its greatest length.
var ErrLimit = errors.New("the file of socket calls has its greatest length")

// Writer writes a raw file. It is not safe for concurrent use.
type Writer struct {
	w    *bufio.Writer
	left int64 // records; the last one is not counted
	b    []byte
}

// NewWriter begins a file of at most limit bytes. 0 is unlimited.
func NewWriter(w io.Writer, limit int64) *Writer {
	if limit <= 0 {
		limit = maxBytes
	}
	n := &Writer{w: bufio.NewWriterSize(w, 64<<10), left: (limit-int64(len(magic)))/recordSize - 1}
	_, _ = n.w.WriteString(magic) // the next write returns its error
	return n
}

// Write writes a record.
func (w *Writer) Write(r *Record) error {
	if w.left <= 0 {
		return ErrLimit
	}
	w.left--
	return w.write(r)
}

func (w *Writer) write(r *Record) error {
	w.b = r.append(w.b[:0])
	_, err := w.w.Write(w.b)
	return err
}

// append writes the record as binary.Append does, but without reflection.
func (r *Record) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, byte(r.Kind), byte(r.Name), byte(r.Flags), 0), uint32(r.FD))
	b = le.AppendUint64(le.AppendUint64(b, uint64(r.Begin)), uint64(r.End))
	b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, uint64(r.Result)), uint32(r.Process)), uint32(r.ID))
	b = le.AppendUint64(le.AppendUint64(b, uint64(r.Start)), r.Inode)
	b = le.AppendUint16(le.AppendUint16(b, r.Family), r.Type)
	b = le.AppendUint16(append(b, r.Local.IP[:]...), r.Local.Port)
	b = le.AppendUint16(append(b, r.Remote.IP[:]...), r.Remote.Port)
	b = le.AppendUint32(le.AppendUint32(b, r.Sequence), r.Origin)
	return append(append(b, r.Thread[:]...), r.Leader[:]...)
}

// Flush hands all records to the writer below.
func (w *Writer) Flush() error { return w.w.Flush() }

// Close ends the file with the times of the recording. It does not close the writer below.
func (w *Writer) Close(begin, end int64) error {
	return errors.Join(w.write(&Record{Kind: isEnd, Begin: begin, End: end}), w.w.Flush())
}

// open reads the raw file of a trace's folder, within the times of the trace.
func open(dir string) (*Table, error) {
	info, err := activity.ReadInfo(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, activity.RawDir, RawFile))
	if err != nil {
		return nil, fmt.Errorf("read socket calls: %w", err)
	}
	defer func() { _ = f.Close() }()
	t, err := Decode(f)
	if err != nil {
		return nil, err
	}
	t.Keep(info.BeginNS, info.EndNS)
	return t, nil
}

// Decode reads a raw file. The file is not trusted: damaged records are skipped and counted. An
// error states that the file is of another kind, or cannot be read.
func Decode(r io.Reader) (*Table, error) { return decode(r, maxRecords) }

func decode(r io.Reader, limit int) (*Table, error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxBytes), 64<<10)
	d := decoder{t: &Table{Skipped: map[string]int64{}}, limit: limit, threads: map[thread]int32{},
		sockets: map[uint64]int32{}}
	head := make([]byte, len(magic), recordSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, fmt.Errorf("read socket calls: %w", err)
	}
	if string(head) != magic {
		return nil, errors.New("read socket calls: the file is not one of socket calls")
	}
	for ended := false; !ended; {
		b := head[:recordSize]
		if _, err := io.ReadFull(in, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			d.t.Skipped["cut file"]++
			for _, c := range d.t.Calls {
				d.t.End = max(d.t.End, c.End)
			}
			break
		} else if err != nil {
			return nil, fmt.Errorf("read socket calls: %w", err)
		}
		var one Record
		if _, err := binary.Decode(b, binary.LittleEndian, &one); err != nil {
			return nil, fmt.Errorf("read socket calls: %w", err)
		}
		if problem := d.record(&one); problem != "" {
			d.t.Skipped[problem]++
		}
		ended = one.Kind == isEnd
	}
	d.offsets()
	d.t.order()
	return d.t, nil
}

type thread struct {
	process, id int32
	start       int64
}

type decoder struct {
	t               *Table
	limit           int
	threads         map[thread]int32
	sockets         map[uint64]int32
	origins         []vote // of each socket's stream
	calls, arrivals []sequence
}

// sequence is the number of a call or arrival whose offset is found when all origins are known.
type sequence struct {
	index  int
	number uint32
}

// vote finds the value that most records have (Boyer and Moore's algorithm). A read of the kernel's
// numbers can fall between two of its writes.
type vote struct {
	origin uint32
	count  int
}

func (v *vote) add(origin uint32) {
	switch {
	case v.count == 0:
		v.origin, v.count = origin, 1
	case v.origin == origin:
		v.count++
	default:
		v.count--
	}
}

// record adds a record to the table, or returns why it is skipped.
func (d *decoder) record(r *Record) string {
	t := d.t
	switch {
	case r.Begin < 0 || r.End < r.Begin && r.Kind != IsArrival || r.End > maxTime || r.Begin > maxTime:
		return "impossible times"
	case r.Kind == isEnd:
		t.Begin, t.End = r.Begin, r.End
		return ""
	case len(t.Calls)+len(t.Arrivals)+len(t.Gaps) >= d.limit:
		return "records over the limit"
	case r.Kind == IsGap:
		t.Gaps = append(t.Gaps, Gap{r.Begin, r.End, max(0, r.Result)})
		return ""
	case r.Kind != IsCall && r.Kind != IsArrival:
		return "unknown records"
	}
	socket, ok := d.socket(r)
	if !ok {
		return "sockets over the limit"
	}
	streamed := r.Flags&Streamed != 0 && socket >= 0
	if streamed {
		d.origins[socket].add(r.Origin)
	}
	if r.Kind == IsArrival {
		if socket < 0 {
			return "arrivals without a socket"
		}
		if streamed {
			d.arrivals = append(d.arrivals, sequence{len(t.Arrivals), r.Sequence})
		}
		t.Arrivals = append(t.Arrivals, Arrival{r.Begin, socket, -1})
		return ""
	}
	if r.Name.String() == "" || r.Result < -4095 || r.Result > maxTime {
		return "impossible calls"
	}
	thread, ok := d.thread(r)
	if !ok {
		return "threads over the limit"
	}
	if streamed {
		d.calls = append(d.calls, sequence{len(t.Calls), r.Sequence})
	}
	t.Calls = append(t.Calls, Call{thread, socket, r.Name, r.Flags &^ Streamed, r.FD, r.Begin, r.End, r.Result, -1})
	return ""
}

// socket returns the number of a record's socket; -1: none. The last known addresses remain.
func (d *decoder) socket(r *Record) (int32, bool) {
	if r.Inode == 0 {
		return -1, true
	}
	i, ok := d.sockets[r.Inode]
	if !ok {
		if len(d.t.Sockets) == maxSockets {
			return -1, false
		}
		i = int32(len(d.t.Sockets))
		d.sockets[r.Inode], d.origins = i, append(d.origins, vote{})
		d.t.Sockets = append(d.t.Sockets, Socket{Inode: r.Inode})
	}
	s := &d.t.Sockets[i]
	if r.Family != 0 {
		s.Family, s.Type = r.Family, r.Type
	}
	if a := r.Local.known(); a.IsValid() {
		s.Local = a
	}
	if a := r.Remote.known(); a.IsValid() {
		s.Remote = a
	}
	return i, true
}

// thread returns the number of a record's thread. It has its last name.
func (d *decoder) thread(r *Record) (int32, bool) {
	key := thread{r.Process, r.ID, r.Start}
	i, ok := d.threads[key]
	if !ok {
		if len(d.t.Threads) == activity.MaxThreads {
			return 0, false
		}
		i = int32(len(d.t.Threads))
		d.threads[key] = i
		d.t.Threads = append(d.t.Threads, activity.Thread{Process: r.Process, ID: r.ID, Start: r.Start})
	}
	for _, name := range []struct {
		from []byte
		to   *string
	}{{r.Thread[:], &d.t.Threads[i].Name}, {r.Leader[:], &d.t.Threads[i].ProcessName}} {
		if text, _, _ := strings.Cut(string(name.from), "\x00"); text != "" {
			*name.to = activity.Clean(text)
		}
	}
	return i, true
}

// offsets counts the bytes of streams from their origins. Sequence numbers wrap.
func (d *decoder) offsets() {
	count := func(all []sequence, of func(int) (int32, *int64)) {
		last := make([]int64, len(d.origins))
		for _, s := range all {
			socket, to := of(s.index)
			l := &last[socket]
			*l += int64(int32(s.number - d.origins[socket].origin - uint32(*l)))
			*to = max(-1, *l)
		}
	}
	count(d.calls, func(i int) (int32, *int64) { return d.t.Calls[i].Socket, &d.t.Calls[i].Offset })
	count(d.arrivals, func(i int) (int32, *int64) { return d.t.Arrivals[i].Socket, &d.t.Arrivals[i].Offset })
}
