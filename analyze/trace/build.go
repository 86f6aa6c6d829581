package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Build makes the calls of all realms. The start is the collector's, on the recording's clock.
// Batches may be in any order. Of batches with equal numbers, the first counts.
func Build(arrived []Arrived, start timeline.Time) *Trace {
	t := &Trace{}
	groups := map[uint32][]Arrived{}
	var order []uint32
	for _, a := range arrived {
		if groups[a.Batch.Realm] == nil {
			order = append(order, a.Batch.Realm)
		}
		groups[a.Batch.Realm] = append(groups[a.Batch.Realm], a)
	}
	var builders []*builder
	for _, id := range order {
		builders = append(builders, newBuilder(groups[id], start))
	}
	link(builders, start)
	slices.SortStableFunc(builders, func(a, b *builder) int {
		return cmp.Compare(a.Offset.Mid()+timeline.Time(a.Begin), b.Offset.Mid()+timeline.Time(b.Begin))
	})
	var counted [3]float64
	for _, b := range builders {
		t.Realms = append(t.Realms, b.Realm)
		t.Records += b.records
		missing := int64(0)
		for _, g := range b.Gaps {
			missing += g.Records
		}
		t.Lost += missing
		pairs := float64(b.counted) / 2
		counted[0] += pairs * float64(b.Pair.Value)
		counted[1] += pairs * float64(b.Pair.Low)
		counted[2] += (pairs + float64(missing)/2) * float64(b.Pair.High) // lost records cost time too
		for _, n := range b.Brief {
			counted[2] += float64(min(n.Calls, timedBrief)) * float64(b.Pair.High)
		}
		t.Problems = append(t.Problems, b.problems...)
	}
	t.Counted = limited(counted[0], counted[1], counted[2], never)
	return t
}

// timedBrief is the number of a function's brief calls in a task that the page looks at.
const timedBrief = 1000

// An entry of top is four times the index of a call, or one of these, plus a flag.
const (
	idle uint32 = 0xfffffffc // the stack is empty
	lost uint32 = 0xfffffff8 // the known stack is empty
)

// Flags of an entry of top.
const (
	pushed = 1 // a record put the call on the stack
	closed = 2 // a record of the call above ended or suspended it
	extra  = 3 // a record of the call on top
	flags  = 3
)

const maxCalls = 1 << 29

// doubt is a span in which the times of calls are uncertain.
type doubt struct {
	from, to int64
	time     int64 // of self time at most
	call     int32
	kind     doubtKind
}

type doubtKind uint8

const (
	ranOn   doubtKind = iota // the time counts for this call, which may have ended before
	under                    // the time counts for calls above; this one may have gone on
	missing                  // records are lost; the call may have run
)

// span is a task: indices in at.
type span struct{ first, last, calls int32 }

// function has the sums of all calls of a function in a realm.
type function struct {
	id      uint32
	depth   int32 // of recursion
	calls   int64
	open    int64
	self    sum
	total   sum   // of the outermost calls; child: pairs below them
	since   int64 // of the outermost call on the stack
	before  counts
	closing int64 // the last one in which it was in doubt
	doubted int64 // total in doubt by that closing
	more    int64 // self time that this closing added
}

// sum is a time with the facts that bound it.
type sum struct {
	time       int64
	less, more int64
	pairs
}

// pairs count pairs of records. An exception ends a call without a record.
type pairs struct {
	own, child             uint32 // of the function, and of the calls above
	ownClosed, childClosed uint32
	extra                  uint32 // records of the function that neither begin nor end a call
}

// state is the place of a call.
type state uint8

const (
	ended state = iota
	stacked
	suspended
	unknown // it was on the stack when records were lost
	// It was on the stack when that was empty or when its caller returned: an exception ended it, or
	// it is in a for await.
	left
)

// frame is a call on the stack.
type frame struct {
	since    int64
	last     int64  // time of its last record
	self     int64  // self time of the call at its last record
	before   counts // of the records before it
	call     int32
	function int32
	finals
}

// finals are the finally blocks that a call is in.
type finals struct {
	inside   uint16 // without the one that reopened the call
	reopened bool   // the call had ended
}

// counts count records.
type counts struct{ begun, closed uint64 }

// numbers are calls with consecutive numbers.
type numbers struct {
	number uint64 // of the first
	index  int32
}

// builder reads the records of a realm.
type builder struct {
	*Realm
	clock    clock
	origin   float64
	arrival  timeline.Time // the largest possible offset
	problems []string
	records  int64
	counted  int64 // records of the stack

	started, ends bool
	known         bool  // the numbers of calls
	since         int64 // time from which they are known
	now           int64
	next          uint64 // number of the next call
	runs          []numbers
	stack         []frame
	state         []state
	empty         uint32 // top of an empty stack
	counts        counts
	pending       []int // doubts that last until the stack is known
	closing       int64
	finals        map[int32]finals // of suspended calls
	strays        map[uint32]int32 // calls whose begins are lost, by number
	resumed       int              // gaps before it have an end
	task          span
	inTask, armed bool
	code          record.Code      // of the current record
	planned       map[uint32]int32 // calls by their callbacks
	small         []int32          // index of functions with small numbers, plus 1
	large         map[uint32]int32

	briefs int // of the current task

	backwards, contradictions, ignored int64
}

const smallFunctions = 1 << 16

func (b *builder) problem(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	b.problems = append(b.problems, fmt.Sprintf("Realm %08x %s.", b.ID, text))
}

// newBuilder reads all batches of one realm.
func newBuilder(all []Arrived, start timeline.Time) *builder {
	first := all[0].Batch
	b := &builder{
		Realm: &Realm{ID: first.Realm, Kind: first.Kind}, origin: first.Origin, arrival: never,
		known: true, next: 1, runs: []numbers{{1, 0}}, empty: idle, large: map[uint32]int32{},
		finals: map[int32]finals{}, strays: map[uint32]int32{}, planned: map[uint32]int32{},
	}
	slices.SortStableFunc(all, func(x, y Arrived) int { return cmp.Compare(x.Batch.Sequence, y.Batch.Sequence) })
	kept, contrary := all[:0], 0
	for _, a := range all {
		if a.Batch.Kind != first.Kind || a.Batch.Origin != first.Origin {
			contrary++
		} else if n := len(kept); n == 0 || kept[n-1].Batch.Sequence != a.Batch.Sequence {
			kept = append(kept, a)
		}
	}
	size := 0
	for _, a := range kept {
		b.arrival = min(b.arrival, a.At-timeline.Time(ns(a.Batch.Sent)))
		for _, r := range a.Batch.Records {
			b.clock.read(r, start)
			if r.Code == record.Enter {
				size++
			}
		}
		b.records += int64(len(a.Batch.Records))
	}
	b.Step, b.Pair = b.clock.resolution(), b.clock.pair()
	b.Calls = make([]Call, 0, size)
	b.state = make([]state, 0, size)
	b.at, b.top = make([]int64, 0, 2*size+2), make([]uint32, 0, 2*size+2)
	b.codes = make([]record.Code, 0, 2*size+2)
	for sequence, i := uint32(0), 0; i < len(kept); i++ {
		batch := kept[i].Batch
		if batch.Sequence != sequence && (len(batch.Records) == 0 || batch.Records[0].Code != record.Gap) {
			b.gap(b.now, 0, record.BatchMissing)
		}
		sequence = batch.Sequence + 1
		b.read(batch)
	}
	b.finish()
	b.describe(contrary)
	return b
}

// describe adds the problems of the records.
func (b *builder) describe(contrary int) {
	var consistent bool
	if b.Offset, consistent = b.clock.offset(); !consistent {
		b.problem("has answers of the collector's clock that contradict each other by %v; all are possible",
			b.Offset.Width())
	}
	for _, c := range []struct {
		n    int64
		text string
	}{
		{int64(contrary), "has %d batches of another kind or time origin"},
		{b.backwards, "has %d times that precede the time before"},
		{b.contradictions, "has %d records that contradict the stack"},
		{b.ignored, "has %d records whose calls are unknown after a loss"},
	} {
		if c.n > 0 {
			b.problem(c.text, c.n)
		}
	}
	if len(b.clock.costs) == 0 && len(b.Calls) > 0 {
		b.problem("did not measure the cost of its records; times include it")
	}
}

// read adds the records of one batch.
func (b *builder) read(batch *record.Batch) {
	stamped, stamp := uint32(0), int64(0) // the point of the last time, and that time
	for _, r := range batch.Records {
		if r.Code == record.Value {
			at := ns(batch.Sent)
			if r.Argument == record.TimeField {
				stamped, stamp = r.ID, ns(min(max(r.At, 0), batch.Sent))
				continue
			}
			if r.ID == stamped {
				at = stamp
			}
			b.Values = append(b.Values, Value{at, r.ID, r.Argument, r.At})
			continue
		}
		stamped = 0
		at := ns(r.At)
		switch r.Code {
		case record.Happened:
			if int(r.ID) >= len(batch.Details) {
				b.contradictions++
			} else if d := batch.Details[r.ID]; d.Kind == "log" {
				b.Notes = append(b.Notes, Note{At: at, Code: r.Code, Text: d.Message, step: len(b.at)})
			} else if d.Kind != "realm" {
				b.Events = append(b.Events, Event{at, d})
			} else if b.URL == "" {
				b.URL = d.URL
			}
			continue
		case record.LongTask:
			b.LongTasks = append(b.LongTasks, LongTask{at, int64(r.ID) * 1000})
			continue
		case record.Brief:
			n := Brief{b.now, b.now, r.ID, int64(r.At)}
			if b.inTask {
				n.Begin = b.Realm.at[b.task.first]
			}
			b.Brief = append(b.Brief, n)
			b.briefs++
			continue
		case record.Loaded:
			b.Loaded = at
			continue
		case record.Asked, record.Answered, record.Rig, record.Cost:
			continue
		case record.Lag, record.Heap, record.Planned, record.Begins, record.Ends:
			b.note(r, at)
			continue
		}
		if !b.started {
			b.started, b.Begin, b.now = true, at, at
		}
		if at < b.now {
			at = b.now
			b.backwards++
		}
		b.ends = r.Code == record.End
		b.stackRecord(r, at)
		b.now = at
	}
	b.End = max(b.End, b.now, ns(batch.Sent))
	if batch.Dropped > 0 {
		b.gap(b.now, int64(batch.Dropped), record.BatchInvalid)
	}
}

// note adds a record of a Node program.
func (b *builder) note(r record.Record, at int64) {
	n := Note{At: at, Code: r.Code, Value: r.ID, Call: -1, step: len(b.at)}
	switch r.Code {
	case record.Planned:
		if len(b.stack) > 0 {
			b.planned[r.ID] = b.frame().call
		}
		return
	case record.Begins, record.Ends:
		call, ok := b.planned[r.ID]
		if !ok {
			return
		}
		if n.Value, n.Call = 0, call; r.Code == record.Ends {
			if b.callbacks == nil {
				b.callbacks = map[int32]int64{}
			}
			b.callbacks[call] = at
		}
	}
	b.Notes = append(b.Notes, n)
}

// stackRecord adds a record with a code from Enter to Calls, Start or End.
func (b *builder) stackRecord(r record.Record, at int64) {
	b.code = r.Code
	switch r.Code {
	case record.Start, record.End:
		return
	case record.Gap:
		b.gap(at, int64(r.ID), record.Cause(r.Argument))
		return
	case record.Calls:
		b.resync(at, uint64(r.ID)+1)
		return
	}
	if !b.known || len(b.Calls) >= maxCalls {
		b.ignored++
		return
	}
	b.counted++
	switch r.Code {
	case record.Enter:
		b.enter(at, r.ID)
		return
	case record.Idle:
		for i := len(b.Brief) - b.briefs; i < len(b.Brief); i++ {
			b.Brief[i].End = at
		}
		b.briefs = 0
		b.idle(at)
		return
	}
	call := b.find(uint64(r.ID))
	if call < 0 && len(b.Gaps) > 0 && uint64(r.ID) < b.next {
		call = b.stray(r.ID, at)
	}
	if call < 0 {
		b.contradictions++
		return
	}
	b.change(r.Code, call, at)
}

// change adds a record about a known call.
func (b *builder) change(code record.Code, call int32, at int64) {
	before := b.state[call]
	switch code {
	case record.Leave, record.Suspend, record.Reclose:
		if before != stacked && before != left && !b.below(call) {
			b.contradictions++
			return
		}
	}
	if before == left {
		b.Calls[call].Threw = false
		b.code = record.Resume
	}
	switch code {
	case record.Leave, record.Suspend:
		if b.reach(call, at); before == stacked {
			if f := b.frame().finals; code == record.Suspend && f != (finals{}) {
				b.finals[call] = f
			}
			b.close(at)
		}
		b.Calls[call].End = at
		if b.state[call] = ended; code == record.Suspend {
			b.state[call] = suspended
		}
	case record.Caught:
		if b.reach(call, at); before != stacked {
			b.push(call, at)
		} else {
			b.touch(at)
		}
	case record.Reopen:
		if b.reach(call, at); before == stacked {
			b.frame().inside++
			b.touch(at)
			return
		}
		goesOn := before == left || b.below(call)
		b.push(call, at)
		b.frame().reopened = !goesOn
	case record.Reclose:
		b.reach(call, at)
		switch {
		case before == left:
			b.Calls[call].End = at
		case before != stacked: // it may go on, since the begin of the block is lost
			b.Calls[call].End = at
			b.state[call] = unknown
		case b.frame().reopened && b.frame().inside == 0:
			b.close(at)
		default:
			b.frame().inside -= min(b.frame().inside, 1)
			b.touch(at)
		}
	case record.Resume:
		reopened := before == ended && b.stale(call) // in a gap
		if before == stacked || before == left || before == ended && !reopened {
			b.contradictions++
			return
		}
		b.push(call, at)
		b.frame().finals = b.finals[call]
		b.frame().reopened = b.frame().reopened || reopened
		delete(b.finals, call)
	}
}

// stray returns a call whose begin is lost. It has the function 0. It may be below the known stack.
func (b *builder) stray(number uint32, at int64) int32 {
	call, ok := b.strays[number]
	if !ok {
		call = int32(len(b.Calls))
		b.strays[number] = call
		b.Calls = append(b.Calls, Call{Parent: -1, Begin: at, End: at, Open: true})
		place := suspended
		if b.empty == lost {
			place = unknown
		}
		b.state = append(b.state, place)
		b.runs = append(b.runs, numbers{b.next, call + 1})
	}
	return call
}

// find returns the index of the call with a number, or -1.
func (b *builder) find(number uint64) int32 {
	i := len(b.runs) - 1
	if number < b.runs[i].number {
		after, _ := slices.BinarySearchFunc(b.runs, number, func(r numbers, n uint64) int {
			if r.number <= n {
				return -1
			}
			return 1
		})
		if i = after - 1; i < 0 {
			return -1
		}
	}
	limit := int32(len(b.Calls))
	if i+1 < len(b.runs) {
		limit = b.runs[i+1].index
	}
	offset := number - b.runs[i].number
	if offset >= uint64(limit-b.runs[i].index) {
		return -1
	}
	return b.runs[i].index + int32(offset)
}

// frame returns the frame on top of the stack.
func (b *builder) frame() *frame { return &b.stack[len(b.stack)-1] }

// mark notes the top of the stack from a time on. It adds the time before to the call on top.
func (b *builder) mark(at int64, flag uint32) {
	top := b.empty
	if len(b.stack) > 0 {
		top = uint32(b.frame().call) << 2
	}
	var below, above *sum
	if n := len(b.at) - 1; n >= 0 {
		before := b.top[n] &^ flags
		if top == before && flag == 0 {
			return
		}
		if before < lost {
			call := &b.Calls[before>>2]
			above = &b.functions[b.index(call.Function)].self
			call.Self += at - b.at[n]
			above.time += at - b.at[n]
			b.task.last = int32(n + 1)
		}
	}
	if top < lost {
		below = &b.functions[b.frame().function].self
	}
	count(above, below, flag)
	b.at, b.top, b.codes = append(b.at, at), append(b.top, top|flag), append(b.codes, b.code)
}

// count counts a record for the functions on top before and after it; nil: none.
func count(before, after *sum, flag uint32) {
	if before == nil {
		before = &sum{}
	}
	if after == nil {
		after = &sum{}
	}
	switch flag {
	case pushed:
		before.child++
		after.own++
	case closed:
		before.ownClosed++
		after.childClosed++
	case extra:
		after.extra++
	}
}

// index returns the place of a function in the list of the realm.
func (b *builder) index(id uint32) int32 {
	if id < uint32(len(b.small)) && b.small[id] > 0 {
		return b.small[id] - 1
	}
	if id >= smallFunctions {
		if i, ok := b.large[id]; ok {
			return i
		}
	}
	i := int32(len(b.functions))
	b.functions = append(b.functions, function{id: id})
	if id >= smallFunctions {
		b.large[id] = i
		return i
	}
	if missing := int(id) + 1 - len(b.small); missing > 0 {
		b.small = append(b.small, make([]int32, missing)...)
	}
	b.small[id] = i + 1
	return i
}
