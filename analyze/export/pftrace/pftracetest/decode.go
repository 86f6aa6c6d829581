// Package pftracetest decodes traces in Perfetto's format for tests, and checks their rules.
package pftracetest

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Trace is a decoded trace. Tracks are in order. Clocks are the readings of the snapshot by clock.
type Trace struct {
	Tracks []*Track
	Clocks map[uint64]int64
	Clock  uint64 // of packets
}

// Track is a track with its content.
type Track struct {
	ID, Parent      uint64
	Name            string
	Process, Thread int32
	Counter         bool
	Slices          []*Slice // in the order of their begins
	Instants        []*Slice
	Values          []int64
	open            []*Slice
	last            int64
}

// Slice is a slice, or an instant without To.
type Slice struct {
	Name, Category string
	From, To       int64
	Depth          int // outer slices
	Args           map[string]any
	Flow           uint64
	Ends           []uint64 // flows
}

// Named returns the tracks with a name.
func (t *Trace) Named(name string) (all []*Track) {
	for _, one := range t.Tracks {
		if one.Name == name {
			all = append(all, one)
		}
	}
	return all
}

type field struct {
	number protowire.Number
	n      uint64
	bytes  []byte
}

func fields(t *testing.T, raw []byte) (all []field) {
	t.Helper()
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			t.Fatalf("bad tag in %x", raw)
		}
		raw = raw[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(raw)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(raw)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(raw)
		default:
			t.Fatalf("field %d has type %d", number, kind)
		}
		if n < 0 {
			t.Fatalf("bad field %d", number)
		}
		raw, all = raw[n:], append(all, f)
	}
	return all
}

type decoder struct {
	t     *testing.T
	trace *Trace
	byID  map[uint64]*Track
	texts map[protowire.Number]map[uint64]string
}

// Decode decodes a trace. Slices that are not nested, unknown texts and tracks are failures.
func Decode(t *testing.T, raw []byte) *Trace {
	t.Helper()
	d := &decoder{t, &Trace{Clocks: map[uint64]int64{}}, map[uint64]*Track{}, map[protowire.Number]map[uint64]string{}}
	for i, packet := range fields(t, raw) {
		if packet.number != 1 {
			t.Fatalf("field %d is not a packet", packet.number)
		}
		at, writer, flags := int64(-1), uint64(0), uint64(0)
		for _, f := range fields(t, packet.bytes) {
			switch f.number {
			case 6:
				d.clocks(f.bytes)
			case 8:
				at = int64(f.n)
			case 10:
				writer = f.n
			case 12:
				d.intern(f.bytes)
			case 13:
				flags = f.n
			case 59:
				d.trace.Clock = fields(t, f.bytes)[0].n
			case 60:
				d.track(f.bytes)
			}
		}
		if writer == 0 || (i == 0) != (flags == 1) {
			t.Fatalf("packet %d is of writer %d and has flags %d", i, writer, flags)
		}
		for _, f := range fields(t, packet.bytes) {
			if f.number == 11 {
				d.event(f.bytes, at)
			}
		}
	}
	for _, track := range d.trace.Tracks {
		if len(track.open) > 0 {
			t.Errorf("track %q has %d slices without end", track.Name, len(track.open))
		}
	}
	return d.trace
}

func (d *decoder) clocks(raw []byte) {
	for _, f := range fields(d.t, raw) {
		if f.number == 1 {
			reading := fields(d.t, f.bytes)
			d.trace.Clocks[reading[0].n] = int64(reading[1].n)
		}
	}
}

func (d *decoder) intern(raw []byte) {
	for _, f := range fields(d.t, raw) {
		entry := fields(d.t, f.bytes)
		if d.texts[f.number] == nil {
			d.texts[f.number] = map[uint64]string{}
		}
		if _, had := d.texts[f.number][entry[0].n]; had {
			d.t.Errorf("text %d of kind %d comes twice", entry[0].n, f.number)
		}
		d.texts[f.number][entry[0].n] = string(entry[1].bytes)
	}
}

func (d *decoder) text(kind protowire.Number, id uint64) string {
	s, ok := d.texts[kind][id]
	if !ok {
		d.t.Errorf("text %d of kind %d is unknown", id, kind)
	}
	return s
}

func (d *decoder) track(raw []byte) {
	one := &Track{last: -1}
	for _, f := range fields(d.t, raw) {
		switch f.number {
		case 1:
			one.ID = f.n
		case 2:
			one.Name = string(f.bytes)
		case 3, 4:
			for _, f := range fields(d.t, f.bytes) {
				switch f.number {
				case 1:
					one.Process = int32(f.n)
				case 2:
					one.Thread = int32(f.n)
				case 5, 6:
					one.Name = string(f.bytes)
				}
			}
		case 5:
			if one.Parent = f.n; d.byID[f.n] == nil {
				d.t.Errorf("parent %d is unknown", f.n)
			}
		case 8:
			one.Counter = true
		}
	}
	for _, had := range d.trace.Tracks {
		if had.ID == one.ID || one.Thread > 0 && had.Process == one.Process && had.Thread == one.Thread {
			d.t.Errorf("track %+v comes twice", one)
		}
	}
	d.byID[one.ID] = one
	d.trace.Tracks = append(d.trace.Tracks, one)
}

func (d *decoder) event(raw []byte, at int64) {
	s, kind, value := &Slice{From: at, Args: map[string]any{}}, uint64(0), int64(0)
	var track *Track
	for _, f := range fields(d.t, raw) {
		switch f.number {
		case 3:
			s.Category = d.text(1, f.n)
		case 4:
			name, v := d.argument(f.bytes)
			s.Args[name] = v
		case 9:
			kind = f.n
		case 10:
			s.Name = d.text(2, f.n)
		case 11:
			track = d.byID[f.n]
		case 47:
			s.Flow = f.n
		case 48:
			s.Ends = append(s.Ends, f.n)
		case 23:
			s.Name = string(f.bytes)
		case 30:
			value = int64(f.n)
		}
	}
	if track == nil || at < 0 {
		d.t.Fatalf("an event at %d has no track", at)
	}
	n := len(track.open)
	switch kind {
	case 1, 2:
		if at < track.last {
			d.t.Errorf("track %q goes back from %d to %d", track.Name, track.last, at)
		}
		track.last = at
		if kind == 1 {
			s.Depth = n
			track.open, track.Slices = append(track.open, s), append(track.Slices, s)
		} else if n == 0 {
			d.t.Errorf("track %q has an end without a begin", track.Name)
		} else {
			track.open[n-1].To = at
			track.open = track.open[:n-1]
		}
	case 3:
		track.Instants = append(track.Instants, s)
	case 4:
		if track.Values = append(track.Values, value); !track.Counter {
			d.t.Errorf("track %q has values", track.Name)
		}
	default:
		d.t.Errorf("event of kind %d", kind)
	}
}

func (d *decoder) argument(raw []byte) (name string, value any) {
	for _, f := range fields(d.t, raw) {
		switch f.number {
		case 1:
			name = d.text(3, f.n)
		case 10:
			name = string(f.bytes)
		case 2:
			value = f.n != 0
		case 4:
			value = int64(f.n)
		case 5:
			value = math.Float64frombits(f.n)
		case 6:
			value = string(f.bytes)
		case 17:
			value = d.text(29, f.n)
		case 11:
			inner, _ := value.(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			k, v := d.argument(f.bytes)
			inner[k], value = v, inner
		case 12:
			_, v := d.argument(f.bytes)
			list, _ := value.([]any)
			value = append(list, v)
		}
	}
	return name, value
}
