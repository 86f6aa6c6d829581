// Package chrome reads traces in Chrome's JSON format: those of Chromium, of DevTools, and of other
// programs that write the format.
//
// Its events become records, and so do samples of the JavaScript profiler. Requests, inputs, pages
// and frames become claims. Other asynchronous events have no thread and are left out.
package chrome

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// maxOpen bounds the slices of a thread that began and did not end.
const maxOpen = activity.MaxDepth

// maxTime bounds times in ns.
const maxTime = 1 << 60

// place is a thread.
type place struct{ process, thread int32 }

// open is a slice without its end.
type open struct {
	function uint32
	at       int64
}

type thread struct {
	number uint32
	name   string
	open   []open
}

// Events takes the events of a trace.
type Events struct {
	to        activity.Sink
	claims    activity.Claims
	threads   map[place]*thread
	processes map[int32]string
	functions map[functionKey]uint32
	requests  map[string]int // indices in claims.Requests
	profiles  map[string]*profile
	begun     map[frameKey]frame
	frames    []frame
	hits      int // of all profiles
	last      struct {
		place
		*thread
	}
}

// NewEvents returns a taker of events.
func NewEvents(to activity.Sink) *Events {
	r := &Events{to: to, threads: map[place]*thread{}, processes: map[int32]string{},
		functions: map[functionKey]uint32{}, requests: map[string]int{}, profiles: map[string]*profile{},
		begun: map[frameKey]frame{}}
	r.claims.Way = "slices"
	return r
}

// Claims returns the claims of the events, for a reader of another format to complete.
func (r *Events) Claims() *activity.Claims { return &r.claims }

// functionKey avoids a text per event.
type functionKey struct{ name, category string }

// Event has the fields of an event as they are in JSON: texts have quotes.
type Event struct {
	Name, Category, Args, ID, Scope []byte
	Phase                           byte
	Process, Thread                 int32
	At, Duration                    int64 // in ns
	Timed                           bool  // At is known
	damaged                         bool
}

// Read reads a trace. Damaged records are skipped and counted. The error is that of the sink, or of
// a file without a trace.
func Read(from io.Reader, to activity.Sink) (*activity.Claims, error) {
	r := NewEvents(to)
	r.claims.Engine, r.claims.Resolution = "chrome", 1000
	s := jsonstream.New(from)
	c, err := s.Peek()
	if err != nil {
		return nil, fmt.Errorf("read Chrome trace: %w", err)
	}
	if c == '[' {
		err = r.events(s)
	} else {
		err = s.Object(func(key string) error {
			switch key {
			case "traceEvents":
				return r.events(s)
			case "metadata":
				raw, err := s.Raw()
				r.metadata(raw)
				return err
			}
			return s.Skip()
		})
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && r.claims.Records > 0 {
		r.claims.Truncated, err = c != '[', nil // a list may end without its bracket
	}
	if err != nil {
		return nil, fmt.Errorf("read Chrome trace: %w", err)
	}
	return &r.claims, r.Close()
}

func (r *Events) events(s *jsonstream.Stream) error {
	var e Event
	field := e.field
	return s.Array(func() error {
		e = Event{}
		whole := s.Fields(field)
		if !whole { // it may continue behind the buffer
			e = Event{}
			raw, err := s.Raw()
			if errors.Is(err, jsonstream.ErrLong) {
				r.claims.Records++
				r.claims.Skip("long records")
				return nil
			} else if err != nil {
				return err
			}
			whole = jsonstream.Fields(raw, func(key, value []byte) bool {
				e.field(key, value)
				return true
			})
		}
		if r.claims.Records++; r.claims.Records > activity.MaxEvents {
			return fmt.Errorf("over %d records", activity.MaxEvents)
		}
		if !whole || e.damaged || e.Phase == 0 {
			r.claims.Skip("malformed records")
			return nil
		}
		return r.Add(&e)
	})
}

// field takes a field of an event.
func (e *Event) field(key, value []byte) {
	switch string(key) {
	case "name":
		e.Name = value
	case "cat":
		e.Category = value
	case "args":
		e.Args = value
	case "id", "id2", "bind_id":
		e.ID = value
	case "scope":
		e.Scope = value
	case "ph":
		if len(value) == 3 {
			e.Phase = value[1]
		}
	case "pid":
		e.Process = jsonstream.Int(value)
	case "tid":
		e.Thread = jsonstream.Int(value)
	case "ts":
		e.At, e.Timed = jsonstream.Decimal(value, 3)
		e.damaged = e.damaged || !e.Timed || e.At < 0 || e.At >= maxTime
	case "dur":
		n, ok := jsonstream.Decimal(value, 3)
		e.Duration = n
		e.damaged = e.damaged || !ok || n < 0 || n >= maxTime
	}
}

// thread returns the thread of a place. Places beyond the limit share one.
func (r *Events) thread(p place) *thread {
	if r.last.thread != nil && r.last.place == p {
		return r.last.thread
	}
	t := r.threads[p]
	if t == nil {
		if len(r.threads) >= activity.MaxThreads-1 {
			r.claims.Skip("records of too many threads")
			if p = (place{-1, -1}); r.threads[p] != nil {
				return r.threads[p]
			}
		}
		t = &thread{}
		r.threads[p] = t
		r.register(p, t)
	}
	r.last.place, r.last.thread = p, t
	return t
}

// Number returns the number of a thread.
func (r *Events) Number(process, id int32) uint32 { return r.thread(place{process, id}).number }

// register passes on the thread with the names known so far.
func (r *Events) register(p place, t *thread) {
	t.number = r.to.Thread(activity.Thread{Process: p.process, ID: p.thread, Name: t.name,
		ProcessName: r.processes[p.process]})
}

// unquoted returns the inner bytes of a string without escapes.
func unquoted(raw []byte) string {
	s, _ := jsonstream.Text(raw)
	return s
}

// category returns the function of a name in a category of the trace.
func (r *Events) category(name, category []byte) uint32 {
	if n, ok := r.functions[functionKey{string(name), string(category)}]; ok { // copies nothing
		return n
	}
	text := unquoted(name)
	if text == "" {
		text = "(no name)"
	}
	n := r.to.Function(activity.Function{Name: text, Module: unquoted(category), Lang: activity.Category})
	if len(r.functions) < 1<<16 && len(name)+len(category) <= 4*activity.MaxName {
		r.functions[functionKey{string(name), string(category)}] = n
	}
	return n
}

// function returns the function of a slice: that of the script which it ran, or else its name.
func (r *Events) function(e *Event) uint32 {
	switch string(e.Name) {
	case `"FunctionCall"`, `"EvaluateScript"`, `"v8.compile"`:
		data := jsonstream.Find(e.Args, "data")
		f := activity.Function{Name: unquoted(jsonstream.Find(data, "functionName")), Lang: activity.Script,
			File: unquoted(jsonstream.Find(data, "url")),
			Line: int(jsonstream.Int(jsonstream.Find(data, "lineNumber")))}
		if f.Name == "" {
			f.Name, f.Lang = unquoted(e.Name), activity.Category
		}
		if f.File != "" || f.Lang == activity.Script {
			return r.to.Function(f)
		}
	}
	return r.category(e.Name, e.Category)
}

// Add takes an event.
func (r *Events) Add(e *Event) error {
	if e.Phase == 'M' {
		r.name(e)
		return nil
	}
	if !e.Timed {
		r.claims.Skip("records without a time")
		return nil
	}
	if r.claim(e) {
		return nil
	}
	p := place{e.Process, e.Thread}
	switch e.Phase {
	case 'X':
		r.claims.Seen(e.At)
		r.claims.Seen(e.At + e.Duration)
		return r.to.Event(activity.Event{At: e.At, Thread: r.thread(p).number, Kind: activity.Slice, Ref: r.function(e),
			Value: e.Duration})
	case 'B':
		r.claims.Seen(e.At)
		t := r.thread(p)
		if len(t.open) >= maxOpen {
			r.claims.Skip("slices in too many others")
			return nil
		}
		t.open = append(t.open, open{r.function(e), e.At})
	case 'E':
		r.claims.Seen(e.At)
		t := r.thread(p)
		if len(t.open) == 0 {
			r.claims.Skip(activity.FromBefore)
			return nil
		}
		last := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		return r.end(t, last, e.At)
	case 'i', 'I', 'R':
		r.claims.Seen(e.At)
		if string(e.Name) == `"Profile"` {
			r.profile(e)
		}
		return r.to.Event(activity.Event{At: e.At, Thread: r.thread(p).number, Kind: activity.Instant,
			Ref: r.function(e)})
	case 'C':
		return r.counter(e, p)
	case 's', 't', 'f':
		kind := activity.FlowIn
		if e.Phase == 's' {
			kind = activity.FlowOut
		}
		return r.to.Event(activity.Event{At: e.At, Thread: r.thread(p).number, Kind: kind, Value: e.flow()})
	case 'P':
		return r.sample(e, p)
	}
	return nil
}

// end passes on a slice.
func (r *Events) end(t *thread, o open, at int64) error {
	if at < o.at {
		r.claims.Skip("ends before their begin")
		return nil
	}
	return r.to.Event(activity.Event{At: o.at, Thread: t.number, Kind: activity.Slice, Ref: o.function,
		Value: at - o.at})
}

// Close ends the slices that are open at the end of the trace. It passes on the samples, and the
// names of processes that were known after their threads.
func (r *Events) Close() error {
	for p, t := range r.threads {
		if r.processes[p.process] != "" {
			r.register(p, t)
		}
		for _, o := range t.open {
			if err := r.end(t, o, r.claims.End); err != nil {
				return err
			}
		}
	}
	r.claims.Requests = complete(r.claims.Requests)
	r.claims.Frames = append(r.claims.Frames, page(r.frames)...)
	return r.profileEnds()
}

// name reads a record of metadata.
func (r *Events) name(e *Event) {
	p := place{e.Process, e.Thread}
	name := activity.Clean(unquoted(jsonstream.Find(e.Args, "name")))
	switch string(e.Name) {
	case `"thread_name"`:
		t := r.thread(p)
		t.name = name
		r.register(p, t)
	case `"process_name"`:
		if len(r.processes) <= activity.MaxThreads {
			r.processes[p.process] = name
		}
	}
}

// flow returns the number of a flow.
func (e *Event) flow() int64 {
	h := fnv.New64a()
	h.Write(e.Category)
	h.Write(e.Scope)
	h.Write(e.ID)
	return int64(h.Sum64() &^ (1 << 63))
}

func (r *Events) counter(e *Event, p place) (err error) {
	r.claims.Seen(e.At)
	jsonstream.Fields(e.Args, func(key, value []byte) bool {
		n, ok := jsonstream.Decimal(value, 0)
		if !ok {
			return true
		}
		name := unquoted(e.Name)
		if string(key) != "value" && string(key) != name {
			name += " " + string(key)
		}
		thread := uint32(0)
		if p.thread != 0 {
			thread = r.thread(p).number
		}
		err = r.to.Event(activity.Event{At: e.At, Thread: thread, Kind: activity.Counter, Value: n,
			Ref: r.to.Function(activity.Function{Name: name, Module: unquoted(e.Category), Lang: activity.Category})})
		return err == nil
	})
	return err
}

// metadata reads the statements about the trace as a whole.
func (r *Events) metadata(raw []byte) {
	r.claims.Monotonic = unquoted(jsonstream.Find(raw, "clock-domain")) == "LINUX_CLOCK_MONOTONIC"
	r.claims.Target = unquoted(jsonstream.Find(raw, "product-version"))
	if captured := unquoted(jsonstream.Find(raw, "trace-capture-datetime")); captured != "" {
		r.wall(captured)
	}
	if n, ok := jsonstream.Decimal(jsonstream.Find(raw, "highres-ticks"), 0); ok && n == 0 {
		r.claims.Resolution = 16_000_000
	}
}

// wall notes when the trace was made. The text is local time of an unknown zone.
func (r *Events) wall(text string) {
	t, err := time.Parse(time.DateTime, text)
	if err == nil && r.claims.WallWithin == 0 && r.claims.End > 0 {
		r.claims.Wall = t.UnixNano() - r.claims.End
		r.claims.WallWithin = int64(15*time.Hour) + r.claims.End - r.claims.Begin
	}
}

// seconds returns a number of seconds in ns; false: it is missing or impossible.
func seconds(raw []byte, shift int) (int64, bool) {
	n, ok := jsonstream.Decimal(raw, shift)
	return n, ok && n > -maxTime && n < maxTime && n != math.MinInt64
}
