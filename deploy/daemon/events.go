package daemon

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// Bounds of the events that are kept.
const (
	MaxEvents     = 8192
	maxEventBytes = 32 << 20
)

// Message is an event as it is sent, made once for all who hear it.
type Message struct {
	Seq  uint64
	Kind string
	Text []byte // a notification
}

// Events are the last things that happened, for any number of readers, each at its own place.
// Nobody who reads is waited for.
type Events struct {
	now func() time.Time

	mu      sync.Mutex
	list    []Message // in order, without holes in their numbers
	bytes   int
	next    uint64
	below   uint64 // reserved numbers: below this one
	reserve func(below uint64)
	changed chan struct{} // closed when there is another one
}

// eventsAhead is how many numbers are reserved at once: no more than the time counts in a second.
const eventsAhead = 1_000_000

// newEvents begins with a number above all earlier ones: the time in microseconds, which fits a
// double. If the clock was set back since, it begins with the last reserved number. reserve saves
// an upper bound of the numbers that are given from now on.
func newEvents(now func() time.Time, reserved uint64, reserve func(below uint64)) *Events {
	e := &Events{now: now, next: max(uint64(now().UnixMicro()), reserved), reserve: reserve,
		changed: make(chan struct{})}
	e.below = e.next
	return e
}

// add numbers an event and tells it.
func (e *Events) add(event api.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next >= e.below {
		e.below = e.next + eventsAhead
		e.reserve(e.below)
	}
	event.Seq, event.TimeWallNS = e.next, e.now().UnixNano()
	params, err := json.Marshal(event)
	if err != nil {
		panic("daemon: an event cannot be encoded: " + err.Error()) // its types are ours
	}
	text, err := json.Marshal(api.Notification{Version: api.JSONRPC, Method: api.EventMethod, Params: params})
	if err != nil {
		panic("daemon: a notification cannot be encoded: " + err.Error())
	}
	e.next++
	e.list = append(e.list, Message{event.Seq, event.Kind, text})
	e.bytes += len(text)
	drop := 0
	for len(e.list)-drop > MaxEvents || e.bytes > maxEventBytes && drop < len(e.list)-1 {
		e.bytes -= len(e.list[drop].Text)
		e.list[drop] = Message{}
		drop++
	}
	e.list = e.list[drop:]
	close(e.changed)
	e.changed = make(chan struct{})
}

// Latest is the number of the last event; before the first, one less than its number.
func (e *Events) Latest() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.next - 1
}

// After copies events with numbers above seq, as many as fit, and returns how many. missed says
// that some before them are gone. Changed is closed when there are more than now.
func (e *Events) After(seq uint64, into []Message) (n int, missed bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.next - uint64(len(e.list))
	from := 0
	switch {
	case seq >= e.next: // of another rig, or of the future
		return 0, false, e.changed
	case seq+1 < first:
		missed = true
	default:
		from = int(seq + 1 - first)
	}
	return copy(into, e.list[from:]), missed, e.changed
}
