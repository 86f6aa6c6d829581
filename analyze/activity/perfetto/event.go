package perfetto

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
)

// Clocks of a machine, and the first number of those of a sequence.
const (
	realtime  = 1
	monotonic = 3
	boottime  = 6
	own       = 64
	ownEnd    = 128
)

// minSleep is more than the error of a snapshot, in ns.
const minSleep = 10e6

// snapshot reads times of several clocks at one instant.
func (r *reader) snapshot(s *sequence, raw []byte) {
	type reading struct {
		id uint64
		clock
	}
	var all []reading
	at, known := int64(0), false
	boot := int64(-1)
	fields(raw, func(f field) {
		if f.number != snapshotClock || len(all) > 64 {
			return
		}
		c := reading{clock: clock{unit: 1}}
		fields(f.bytes, func(f field) {
			switch f.number {
			case clockID:
				c.id = f.n
			case clockTime:
				c.value = int64(f.n)
			case clockAdds:
				c.adds = f.n == 1
			case clockUnit:
				c.unit = int64(f.n)
			}
		})
		if c.unit < 1 || c.unit > 1e9 || c.value < 0 || c.value > math.MaxInt64/2/c.unit {
			r.claims.Skip("impossible times")
			return
		}
		all = append(all, c)
		switch c.id {
		case monotonic:
			at, known = c.value, true
		case boottime:
			boot = c.value
		}
	})
	if !known {
		return
	}
	if first, ok := r.clocks[boottime]; ok && boot >= 0 && at+r.claims.Slept-boot < first-minSleep {
		r.claims.Slept = first + boot - at // only CLOCK_BOOTTIME went on
	}
	at += r.claims.Slept
	r.stated.until = max(r.stated.until, at)
	for _, c := range all {
		c.offset = at - c.value*c.unit
		if c.id < own {
			r.clocks[c.id] = c.offset
		} else if c.id < ownEnd && (s.clocks[c.id] != nil || r.keep(s, perName)) {
			s.clocks[c.id] = &c.clock
		}
	}
}

// time returns the time of a packet.
func (r *reader) time(s *sequence, p *packet) (int64, bool) {
	if !p.timed {
		return 0, false
	}
	id := p.clock
	if !p.clocked {
		if id = s.clock; id == 0 {
			id = boottime
		}
	}
	ns := int64(p.time)
	if id >= own {
		c := s.clocks[id]
		if c == nil || ns < 0 || ns > maxTime/c.unit {
			return 0, false
		}
		if c.adds {
			if ns > maxTime/c.unit-c.value {
				return 0, false
			}
			c.value += ns
			ns = c.value
		}
		ns = ns*c.unit + c.offset
		id = monotonic
	} else if offset, ok := r.clocks[id]; ok {
		ns += offset
		id = monotonic
	}
	if r.base == 0 {
		r.base = id
	}
	return ns, id == r.base && ns >= 0 && ns < maxTime
}

func (s *sequence) defaults(raw []byte) {
	fields(raw, func(f field) {
		switch f.number {
		case defaultsClock:
			s.clock = f.n
		case defaultsEvent:
			fields(f.bytes, func(f field) {
				if f.number == eventTrack {
					s.track = f.n
				}
			})
		}
	})
}

// intern adds names.
func (r *reader) intern(s *sequence, raw []byte) bool {
	ok := true
	whole := fields(raw, func(f field) {
		kind := 0
		switch f.number {
		case internedCategory:
			kind = categories
		case internedName:
			kind = names
		case internedAnnotation:
			kind = annotations
		case internedText:
			kind = texts
		default:
			return
		}
		var id uint64
		var name []byte
		ok = fields(f.bytes, func(f field) {
			switch f.number {
			case entryID:
				id = f.n
			case entryName:
				most := 2 * activity.MaxName // many records may have one name
				if kind == texts {
					most = activity.MaxAddress
				}
				name = quote(f.bytes[:min(len(f.bytes), most)])
			}
		}) && ok
		if s.names[kind] == nil {
			s.names[kind] = map[uint64][]byte{}
		}
		had, known := s.names[kind][id]
		more := len(name) - len(had)
		if !known {
			more += perName
		}
		if !r.keep(s, more) {
			r.claims.Skip("names beyond the limit")
			return
		}
		s.names[kind][id] = name
	})
	return whole && ok
}

// quote returns a text in JSON.
func quote(text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			raw, _ := json.Marshal(string(text)) // a text can be written
			return raw
		}
	}
	b := make([]byte, 0, len(text)+2)
	return append(append(append(b, '"'), text...), '"')
}

// Types of track events.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// event passes on a track event.
func (r *reader) event(s *sequence, p *packet, at int64) error {
	e := chrome.Event{At: at, Timed: true}
	track, kind := s.track, uint64(0)
	var arguments [][]byte
	var legacy, reporter []byte
	var begins, ends []uint64 // flows
	whole := fields(p.event, func(f field) {
		switch f.number {
		case eventType:
			kind = f.n
		case eventTrack:
			track = f.n
		case eventNameID:
			e.Name = s.names[names][f.n]
		case eventName:
			e.Name = quote(f.bytes)
		case eventCategoryID:
			if e.Category == nil {
				e.Category = s.names[categories][f.n]
			}
		case eventCategory:
			e.Category = quote(f.bytes)
		case eventArgument:
			arguments = append(arguments, f.bytes)
		case eventLegacy:
			legacy = f.bytes
		case eventReporter, eventReporter2:
			reporter = f.bytes
		case eventCounter:
			e.Args = append(strconv.AppendInt([]byte(`{"value":`), int64(f.n), 10), '}')
		case eventCounterF:
			if v := math.Float64frombits(f.n); !math.IsNaN(v) && !math.IsInf(v, 0) {
				e.Args = append(strconv.AppendFloat([]byte(`{"value":`), v, 'f', -1, 64), '}')
			}
		case eventFlow:
			begins = flows(begins, f)
		case eventFlowEnd:
			ends = flows(ends, f)
		}
	})
	if !whole {
		r.claims.Skip("malformed records")
		return nil
	}
	if track == 0 && legacy != nil {
		track = s.track // the thread of the writer
	}
	e.Process, e.Thread = r.place(track)
	if e.Thread != 0 {
		s.lost.by(r.events.Number(e.Process, e.Thread))
	}
	switch kind {
	case sliceBegin:
		e.Phase = 'B'
	case sliceEnd:
		e.Phase = 'E'
	case instant:
		e.Phase = 'i'
	case counter:
		e.Phase = 'C'
		if t := r.tracks[track]; e.Name == nil && t != nil {
			e.Name = quote([]byte(t.name))
		}
	}
	if legacy != nil {
		r.legacy(s, &e, legacy)
	}
	if legacy == nil && r.compositorFrame(&e, track, kind, reporter) {
		return nil
	}
	if e.Phase == 0 || e.Thread == 0 && e.Phase != 'C' {
		return nil // asynchronous events are not of a thread
	}
	if len(arguments) > 0 && e.Args == nil && interesting(e.Name) {
		e.Args = []byte{'{'}
		for _, raw := range arguments {
			e.Args = s.argument(e.Args, raw, true, 0)
		}
		e.Args = append(e.Args, '}')
	}
	if err := r.events.Add(&e); err != nil {
		return err
	}
	for i, id := range append(begins, ends...) {
		flow := chrome.Event{Phase: 's', At: at, Timed: true, Process: e.Process, Thread: e.Thread,
			ID: strconv.AppendUint(nil, id, 10)}
		if i >= len(begins) {
			flow.Phase = 'f'
		}
		if err := r.events.Add(&flow); err != nil {
			return err
		}
	}
	return nil
}

// flows adds the numbers of a field, which may be packed.
func flows(all []uint64, f field) []uint64 {
	const most = 64
	if f.kind == protowire.Fixed64Type && len(all) < most {
		return append(all, f.n)
	}
	for raw := f.bytes; len(raw) > 0 && len(all) < most; {
		v, n := protowire.ConsumeFixed64(raw)
		if n < 0 {
			break
		}
		all, raw = append(all, v), raw[n:]
	}
	return all
}

// legacy reads the fields that events of Chrome's JSON format have.
func (r *reader) legacy(s *sequence, e *chrome.Event, raw []byte) {
	fields(raw, func(f field) {
		switch f.number {
		case legacyNameID:
			e.Name = s.names[names][f.n]
		case legacyPhase:
			if e.Phase = 0; f.n < 128 {
				e.Phase = byte(f.n)
			}
		case legacyDuration:
			if us := int64(f.n); us >= 0 && us < maxTime/1000 {
				e.Duration = us * 1000
			}
		case legacyUnscoped, legacyLocal, legacyGlobal:
			e.ID = append(strconv.AppendUint([]byte(`"0x`), f.n, 16), '"')
		case legacyProcess:
			e.Process = int32(f.n)
		case legacyThread:
			e.Thread = int32(f.n)
		}
	})
}

// interesting reports whether the arguments of an event are read.
func interesting(name []byte) bool {
	switch string(name) {
	case `"ResourceSendRequest"`, `"ResourceReceiveResponse"`, `"ResourceFinish"`, `"EventDispatch"`, `"FunctionCall"`,
		`"EvaluateScript"`, `"v8.compile"`, `"Profile"`, `"ProfileChunk"`, `"navigationStart"`:
		return true
	}
	return false
}

const (
	maxNesting   = 16
	maxArguments = 16 << 20 // bytes of JSON
)

// argument appends an argument as JSON, with its name in an object.
func (s *sequence) argument(to, raw []byte, named bool, depth int) []byte {
	var name, value []byte
	var inner [][]byte
	opens := byte(0)
	fields(raw, func(f field) {
		switch f.number {
		case argumentNameID:
			name = s.names[annotations][f.n]
		case argumentName:
			name = quote(f.bytes)
		case argumentBool:
			value = strconv.AppendBool(nil, f.n != 0)
		case argumentUint:
			value = strconv.AppendUint(nil, f.n, 10)
		case argumentInt:
			value = strconv.AppendInt(nil, int64(f.n), 10)
		case argumentFloat:
			if v := math.Float64frombits(f.n); !math.IsNaN(v) && !math.IsInf(v, 0) {
				value = strconv.AppendFloat(nil, v, 'f', -1, 64)
			}
		case argumentText:
			value = quote(f.bytes)
		case argumentTextID:
			value = s.names[texts][f.n]
		case argumentJSON:
			if json.Valid(f.bytes) && utf8.Valid(f.bytes) {
				value = f.bytes
			}
		case argumentFields:
			opens, inner = '{', append(inner, f.bytes)
		case argumentList:
			opens, inner = '[', append(inner, f.bytes)
		}
	})
	if len(to) > maxArguments || depth > maxNesting || named && name == nil {
		return to
	}
	if last := to[len(to)-1]; last != '{' && last != '[' {
		to = append(to, ',')
	}
	if named {
		to = append(append(to, name...), ':')
	}
	switch {
	case opens != 0:
		to = append(to, opens)
		for _, raw := range inner {
			to = s.argument(to, raw, opens == '{', depth+1)
		}
		return append(to, opens+2) // '}' and ']' are two after their begins
	case value == nil:
		value = []byte("null")
	}
	return append(to, value...)
}
