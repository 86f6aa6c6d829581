package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a batch.
const (
	MaxBatch      = 1<<20 + 64<<10 // bytes
	MaxRecords    = 1 << 16
	MaxDetails    = 256
	maxDetailSize = 64 << 10 // bytes of all
	maxField      = 1000     // characters
	maxStack      = 50
	maxPosition   = 1 << 31 // line or column
)

// Limits of times.
const (
	maxTime   = 1e12 // ms: 31 years
	maxRig    = 1e18 // ns
	maxOrigin = 1e15 // ms since 1970
	maxCost   = 1e6  // ms
	maxTook   = 1e12 // µs of a request
)

const (
	magic      = "EIDS"
	version    = 1
	headSize   = 40
	recordSize = 16
)

// Decode reads one batch. The batch does not refer to raw. An invalid head or size is an error with
// its offset. Invalid records and details are left out and counted.
//
// Decode allocates the records, the details' texts and a few kB. Control characters of details
// become spaces, so a terminal may print them.
func Decode(raw []byte) (Batch, error) {
	b, n, err := decodeHead(raw)
	if err != nil {
		return Batch{}, err
	}
	details := raw[headSize+n*recordSize:]
	index, err := b.decodeDetails(details)
	if err != nil {
		return Batch{}, failure(len(raw)-len(details), "details: %w", err)
	}
	if n == 0 {
		return b, nil
	}
	b.Records = make([]Record, 0, n)
	for at := headSize; at < headSize+n*recordSize; at += recordSize {
		r, ok := decodeRecord(raw[at:])
		switch {
		case !ok:
			b.Dropped++
			continue
		case r.Code != Happened:
		case r.ID >= uint32(len(index)) || index[r.ID] < 0:
			b.DroppedDetails++
			continue
		default:
			r.ID = uint32(index[r.ID])
		}
		b.Records = append(b.Records, r)
	}
	return b, nil
}

func failure(offset int, format string, arguments ...any) error {
	return fmt.Errorf("batch, byte %d: "+format, append([]any{offset}, arguments...)...)
}

// decodeHead reads all fields before the records, and the number of records.
func decodeHead(raw []byte) (b Batch, n int, err error) {
	if len(raw) < headSize {
		return b, 0, failure(len(raw), "the head is cut: it has %d bytes", headSize)
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(raw[at:]) }
	b = Batch{
		Kind: RealmKind(raw[5]), Realm: u32(8), Sequence: u32(12), Origin: float(raw[16:]), Sent: float(raw[24:]),
	}
	records, details := u32(32), u32(36)
	switch {
	case string(raw[:4]) != magic:
		return b, 0, failure(0, "%q is not %s", raw[:4], magic)
	case raw[4] != version:
		return b, 0, failure(4, "unknown version %d", raw[4])
	case b.Kind < Window || b.Kind > Node:
		return b, 0, failure(5, "unknown kind of realm %d", b.Kind)
	case raw[6] != 0 || raw[7] != 0:
		return b, 0, failure(6, "reserved bytes are not 0")
	case b.Realm == 0:
		return b, 0, failure(8, "realm is 0")
	case !within(b.Origin, maxOrigin):
		return b, 0, failure(16, "time origin %g is out of range", b.Origin)
	case !within(b.Sent, maxTime):
		return b, 0, failure(24, "time %g is out of range", b.Sent)
	case records > MaxRecords:
		return b, 0, failure(32, "%d records; at most %d are allowed", records, MaxRecords)
	case details > maxDetailSize:
		return b, 0, failure(36, "%d bytes of details; at most %d are allowed", details, maxDetailSize)
	}
	if size := headSize + int(records)*recordSize + int(details); size != len(raw) {
		return b, 0, failure(32, "sizes amount to %d bytes, but the batch has %d", size, len(raw))
	}
	return b, int(records), nil
}

func float(raw []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(raw)) }

// within reports whether x is in [0, limit]. NaN is not.
func within(x, limit float64) bool { return x >= 0 && x <= limit }

// decodeRecord reads one record and reports whether it is valid.
func decodeRecord(raw []byte) (r Record, ok bool) {
	r = Record{
		Code: Code(raw[0]), Argument: binary.LittleEndian.Uint16(raw[2:]), ID: binary.LittleEndian.Uint32(raw[4:]),
		At: float(raw[8:]),
	}
	limit := maxTime
	switch r.Code {
	case Enter, Leave, Caught, Reopen, Reclose, Suspend, Resume:
		ok = r.ID != 0
	case Idle, Start, End, Loaded:
		ok = r.ID == 0
	case Gap:
		c := Cause(r.Argument)
		ok = c >= RingFull && c <= Unreachable || c == SwitchedOff
	case Cost:
		ok, limit = r.ID != 0, maxCost
	case Brief:
		ok = r.ID != 0 && r.Argument == 0 && r.At >= 1 && r.At <= 1<<32
	case Rig:
		ok, limit = true, maxRig
	case Value:
		// A value is any number.
		return r, r.ID != 0 && raw[1] == 0 && !math.IsNaN(r.At) && !math.IsInf(r.At, 0)
	case Calls, Asked, Answered, Happened, LongTask, Lag, Heap, Planned, Begins, Ends:
		ok = true
	}
	return r, ok && raw[1] == 0 && within(r.At, limit)
}

// decodeDetails reads the details. The index has the new place of each detail, or -1 for an invalid
// one.
func (b *Batch) decodeDetails(raw []byte) (index []int, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('[') {
		return nil, errors.New("not an array")
	}
	for d.More() {
		if len(index) == MaxDetails {
			return nil, fmt.Errorf("more than %d objects", MaxDetails)
		}
		var detail Detail
		err := d.Decode(&detail)
		if wrong := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &wrong) {
			return nil, err
		}
		if err != nil || !detail.clean() {
			index = append(index, -1)
			b.DroppedDetails++
			continue
		}
		index = append(index, len(b.Details))
		b.Details = append(b.Details, detail)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if rest := raw[d.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return nil, errors.New("text after the array")
	}
	return index, nil
}

// clean replaces control characters and reports whether all fields are valid.
func (d *Detail) clean() bool {
	kinds := []string{"realm", "error", "rejection", "caught", "resource", "blocked", "failed", "plain",
		"log", "request"}
	ok := slices.Contains(kinds, d.Kind) && len(d.Stack) <= maxStack && position(d.Line, d.Column) &&
		d.WaitUS >= -1 && d.WaitUS <= maxTook && d.TookUS >= 0 && d.TookUS <= maxTook
	for _, field := range []*string{&d.Message, &d.URL, &d.Tag, &d.What} {
		ok = cleanField(field) && ok
	}
	for i := range d.Stack {
		p := &d.Stack[i]
		ok = cleanField(&p.Function) && cleanField(&p.URL) && position(p.Line, p.Column) && ok
	}
	if len(d.Stack) == 0 {
		d.Stack = nil
	}
	return ok
}

func position(line, column int) bool {
	return line >= 0 && line < maxPosition && column >= 0 && column < maxPosition
}

// cleanField replaces control characters and line separators, and checks the length.
func cleanField(text *string) bool {
	*text = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, *text)
	return utf8.RuneCountInString(*text) <= maxField
}

// Append appends the bytes of the batch. Decode reads them if the batch keeps to the limits.
func (b Batch) Append(to []byte) []byte {
	var details bytes.Buffer
	if len(b.Details) > 0 {
		e := json.NewEncoder(&details)
		e.SetEscapeHTML(false)
		if err := e.Encode(b.Details); err != nil {
			panic(err) // strings and numbers always have a form
		}
		details.Truncate(details.Len() - 1) // the line break
	}
	put32, put64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	to = append(to, magic...)
	to = append(to, version, byte(b.Kind), 0, 0)
	to = put32(put32(to, b.Realm), b.Sequence)
	to = put64(put64(to, math.Float64bits(b.Origin)), math.Float64bits(b.Sent))
	to = put32(put32(to, uint32(len(b.Records))), uint32(details.Len()))
	for _, r := range b.Records {
		to = append(to, byte(r.Code), 0)
		to = binary.LittleEndian.AppendUint16(to, r.Argument)
		to = put64(put32(to, r.ID), math.Float64bits(r.At))
	}
	return append(to, details.Bytes()...)
}
