// Package pftrace writes traces in Perfetto's protobuf format.
//
// A trace has tracks with slices, instants and values. Slices of one track are apart or nested, as
// the format demands: those that overlap go to further tracks. Texts are written once.
package pftrace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of one trace. Texts beyond them are written in full. Slices beyond the lanes are left out.
const (
	maxTexts = 16 << 20 // bytes
	maxText  = 1 << 10
	maxLanes = 256 // of a track
)

// Clock is a time of CLOCK_MONOTONIC, which the trace has, in ns. CLOCK_REALTIME is later by Wall.
type Clock struct{ At, Wall int64 }

// Track describes a track: a process or a thread by their numbers, a counter, or any other one.
type Track struct {
	Name            string
	Parent          *Track // nil: none
	Process, Thread int32
	Counter         bool

	lanes []*lane
}

// lane is a row of slices that are apart or nested.
type lane struct {
	id   uint64
	last int64   // time of the last begin or end
	ends []int64 // of open slices, outermost first
}

// Event is the content of a slice or an instant. Args become a JSON object; nil: none.
type Event struct {
	Name, Category string
	Args           any
	Flow           uint64   // an arrow that begins here; 0: none
	Ends           []uint64 // arrows that end here
}

// Writer writes a trace. Close returns its first error.
type Writer struct {
	out    *bufio.Writer
	text   func(string) string
	err    error
	tracks []*Track
	lanes  uint64
	left   int
	ids    map[known]uint64
	size   int    // bytes of known texts
	fresh  []byte // texts that no packet has yet

	head, packet, body []byte // reused
}

// known is a text with the field of InternedData that it has.
type known struct {
	field protowire.Number
	text  string
}

// Fields of InternedData.
const (
	categories = 1
	names      = 2
	keys       = 3
	values     = 29
)

// NewWriter begins a trace. A clock of nil has no relation to others. text changes each text.
func NewWriter(w io.Writer, clock *Clock, text func(string) string) *Writer {
	t := &Writer{out: bufio.NewWriterSize(w, 64<<10), text: text, ids: map[known]uint64{}}
	const realtime, monotonic = 1, 3
	first := number(nil, 13, 1) // the state of the writer begins
	if clock != nil {
		snapshot := sub(nil, 1, number(number(nil, 1, monotonic), 2, uint64(clock.At)))
		snapshot = sub(snapshot, 1, number(number(nil, 1, realtime), 2, uint64(clock.At+clock.Wall)))
		first = sub(first, 6, number(snapshot, 2, monotonic))
		first = sub(first, 59, number(nil, 58, monotonic)) // the clock of all packets
	}
	t.put(first)
	return t
}

// Add adds a track. Those of a parent are in the order in which they are added.
func (t *Writer) Add(one Track) *Track {
	of := &one
	t.tracks = append(t.tracks, of)
	t.lane(of)
	return of
}

// lane adds a lane. Each one is a track of the format, those after the first without the thread.
func (t *Writer) lane(of *Track) *lane {
	t.lanes++
	l, parent := &lane{id: t.lanes}, of.Parent
	d, name := number(nil, 1, l.id), t.clean(of.Name)
	switch {
	case of.Thread > 0 && len(of.lanes) == 0:
		thread := number(number(nil, 1, uint64(of.Process)), 2, uint64(of.Thread))
		d = sub(d, 4, text(thread, 5, name))
	case of.Process > 0 && len(of.lanes) == 0:
		d = sub(d, 3, text(number(nil, 1, uint64(of.Process)), 6, name))
	default:
		d = text(d, 2, name)
	}
	if of.Counter {
		d = sub(d, 8, nil)
	}
	if len(of.lanes) > 0 && of.Process > 0 {
		parent = of
	}
	if parent != nil {
		d = number(d, 5, parent.lanes[0].id)
	}
	const inOrder = 3 // the tracks below it have ranks
	t.put(sub(nil, 60, number(number(d, 11, inOrder), 12, l.id)))
	of.lanes = append(of.lanes, l)
	return l
}

// Types of events.
const (
	begins  = 1
	ends    = 2
	instant = 3
	counts  = 4
)

// Slice adds a slice. Those of a track come in the order of their begins, outer ones first.
func (t *Writer) Slice(on *Track, from, to int64, e Event) {
	from, to = max(from, 0), max(from, to, 0)
	var l *lane
	for _, one := range on.lanes {
		if t.end(one, from); one.last <= from && (len(one.ends) == 0 || one.ends[len(one.ends)-1] >= to) {
			l = one
			break
		}
	}
	if l == nil && len(on.lanes) == maxLanes {
		t.left++
		return
	} else if l == nil {
		l = t.lane(on)
	}
	l.ends, l.last = append(l.ends, to), from
	t.event(begins, l.id, from, 0, &e)
}

// end ends the slices of a lane that end until a time.
func (t *Writer) end(l *lane, at int64) {
	for n := len(l.ends); n > 0 && l.ends[n-1] <= at; n-- {
		l.last, l.ends = l.ends[n-1], l.ends[:n-1]
		t.event(ends, l.id, l.last, 0, nil)
	}
}

// Instant adds an instant.
func (t *Writer) Instant(on *Track, at int64, e Event) { t.event(instant, on.lanes[0].id, at, 0, &e) }

// Count adds a value of a counter.
func (t *Writer) Count(on *Track, at, value int64) { t.event(counts, on.lanes[0].id, at, value, nil) }

// Close ends all slices. It returns the number of slices that are left out, and the first error.
func (t *Writer) Close() (left int, err error) {
	for _, of := range t.tracks {
		for _, l := range of.lanes {
			t.end(l, math.MaxInt64)
		}
	}
	if err := t.out.Flush(); t.err == nil {
		t.err = err
	}
	return t.left, t.err
}

// event writes an event. e is nil for ends and values.
func (t *Writer) event(kind, lane uint64, at, value int64, e *Event) {
	b := number(number(t.body[:0], 9, kind), 11, lane)
	if e != nil {
		b = t.known(b, 10, 23, names, e.Name)
		if e.Category != "" {
			b = t.known(b, 3, 22, categories, e.Category)
		}
		if e.Args != nil {
			raw, err := json.Marshal(e.Args)
			if t.err == nil {
				t.err = err
			}
			in := json.NewDecoder(bytes.NewReader(raw))
			in.UseNumber()
			_, _ = in.Token() // the object begins
			b = t.members(b, in, 4, true)
		}
		if e.Flow != 0 {
			b = fixed(b, 47, e.Flow)
		}
		for _, id := range e.Ends {
			b = fixed(b, 48, id)
		}
	}
	if kind == counts {
		b = number(b, 30, uint64(value))
	}
	t.body = b
	t.put(sub(number(number(nil, 8, uint64(max(at, 0))), 13, 2), 11, b)) // 2: it needs earlier texts
}

// members adds the members of an object or a list, each as one field.
func (t *Writer) members(to []byte, in *json.Decoder, field protowire.Number, named bool) []byte {
	for in.More() {
		var one []byte
		if named {
			key, _ := in.Token()
			one = t.known(nil, 1, 10, keys, key.(string))
		}
		token, _ := in.Token()
		switch v := token.(type) {
		case json.Delim:
			one = t.members(one, in, map[json.Delim]protowire.Number{'{': 11, '[': 12}[v], v == '{')
		case bool:
			one = number(one, 2, protowire.EncodeBool(v))
		case string:
			one = t.known(one, 17, 6, values, v)
		case json.Number:
			if n, err := v.Int64(); err == nil {
				one = number(one, 4, uint64(n))
			} else {
				f, _ := v.Float64() // infinite beyond the range
				one = fixed(one, 5, math.Float64bits(f))
			}
		}
		to = sub(to, field, one)
	}
	_, _ = in.Token() // it ends
	return to
}

// put writes a packet with the texts that are new.
func (t *Writer) put(fields []byte) {
	p := number(t.packet[:0], 10, 1) // number of the writer
	if len(t.fresh) > 0 {
		p = sub(p, 12, t.fresh)
		t.fresh = t.fresh[:0]
	}
	t.packet = append(p, fields...)
	t.head = protowire.AppendVarint(protowire.AppendTag(t.head[:0], 1, protowire.BytesType), uint64(len(t.packet)))
	_, _ = t.out.Write(t.head) // Flush returns the error
	_, _ = t.out.Write(t.packet)
}

func (t *Writer) clean(s string) string { return strings.ToValidUTF8(t.text(s), "�") }

// known adds the number of a text, or the text itself beyond the limits.
func (t *Writer) known(to []byte, byID, inFull, kind protowire.Number, s string) []byte {
	id, ok := t.ids[known{kind, s}]
	if ok {
		return number(to, byID, id)
	}
	out := t.clean(s)
	if t.size += len(s) + len(out); len(s) > maxText || t.size > maxTexts {
		return text(to, inFull, out)
	}
	id = uint64(len(t.ids) + 1)
	t.ids[known{kind, s}] = id
	t.fresh = sub(t.fresh, kind, text(number(nil, 1, id), 2, out))
	return number(to, byID, id)
}

func number(to []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, n, protowire.VarintType), v)
}

func fixed(to []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(to, n, protowire.Fixed64Type), v)
}

func text(to []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, n, protowire.BytesType), s)
}

func sub(to []byte, n protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, n, protowire.BytesType), message)
}
