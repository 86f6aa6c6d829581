// Package trace turns the records of instrumented scripts into calls on the recording's clock.
//
// Records are claims of a page and may contradict each other. Contradictions are counted and never
// fail. [Build] needs about 80 bytes per call. Hostile records need at most 400 bytes each. The
// time per record does not depend on the depth of the stack. Batches must come from record.Decode.
//
// # Bounds
//
// A bound of a time has these parts:
//
//   - A reading of the page's clock is wrong by up to one step. Browsers round up or down at
//     random. So a difference of readings is wrong by 0.58 steps (standard deviation). A sum of n
//     differences gets 1.2·√n steps, which holds in 95 % of the cases. Min and max get 2 steps.
//   - The step is the greatest common divisor of the differences between consecutive readings. It
//     is at least 5 µs and at most 100 ms.
//   - A pair of enter and leave costs time. One part is within the call, the other in its caller.
//     The shares are unknown. So n calls with k callees have the cost of min(n, k) to max(n, k)
//     pairs.
//   - The time of an exception is unknown. The call probably ran until the record that closes it.
//     It may have ended after its own last record, if a native function caught the exception.
//     Then a call below it went on.
//   - A for await is not recorded. The call seems to end by an exception, until a record follows.
//   - A call that was on the stack at a gap may have run until the stack was known again.
//   - A span of the recording is widened by the offset's uncertainty.
package trace

import (
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Span is a duration in ns with its bounds.
type Span struct{ Value, Low, High int64 }

// Arrived is a batch and the time of its arrival, on the recording's clock.
type Arrived struct {
	At    timeline.Time
	Batch *record.Batch
}

// Trace has the calls of all realms.
type Trace struct {
	Realms  []*Realm // in the order of their starts
	Records int64
	Lost    int64 // records in gaps, as the pages counted them
	// Counted is the instrumentation's cost in all records. Its upper bound includes lost ones.
	Counted Span
	// Problems are sentences about records that contradict each other.
	Problems []string
}

// Realm is a global object with its calls. Its times are page times in ns.
type Realm struct {
	ID    uint32
	Kind  record.RealmKind
	URL   string
	Calls []Call // in the order of their begins
	// Offset is added to page times: they are then times of the recording.
	Offset timeline.Interval
	// Step is the resolution of the page's clock, in ns.
	Step int64
	// Pair is the cost of one pair of enter and leave, from the calibration in the page.
	Pair       Span
	Begin, End int64 // the first and the last time of the realm's records
	Gaps       []Gap
	Brief      []Brief
	Events     []Event
	LongTasks  []LongTask
	Notes      []Note // in the order of their records
	Values     []Value
	Loaded     int64 // time of the page's load event; 0: none

	// at and top are the course of the stack: from at[i] on, top[i] is on top.
	at        []int64
	top       []uint32
	codes     []record.Code   // of the record that changed the stack
	callbacks map[int32]int64 // the last end of a call's callbacks
	doubts    []doubt
	tasks     []span
	functions []function
}

// When returns the time of the recording at a page time of the realm.
func (r *Realm) When(page int64) timeline.Interval {
	return timeline.Interval{
		Earliest: r.Offset.Earliest + timeline.Time(page-r.Step), Latest: r.Offset.Latest + timeline.Time(page+r.Step),
	}
}

// Call is one call of a function. Its times are page times of its realm, in ns. So differences
// have the error of two readings of the page's clock only.
type Call struct {
	Function   uint32 // 0: records of its begin are lost
	Parent     int32  // index in the realm's calls; -1: called by the browser, or unknown after a gap
	Begin, End int64
	Self       int64 // without callees and suspensions, as measured
	Total      int64 // without suspensions, as measured
	// begun and closed count the pairs of the calls above, spans the times on the stack.
	begun, closed, spans uint32
	// Threw states that an exception ended the call. End is then the latest possible time.
	Threw bool
	// Open states that the end is unknown. The call was suspended, or records are lost.
	Open bool
}

// Gap is a part of a realm's records that is lost.
type Gap struct {
	From, To int64
	Records  int64 // 0: unknown
	Cause    record.Cause
}

// Brief counts the calls of a function in a task that have no records. They were too brief and too
// many. Their time is self time of their callers.
type Brief struct {
	Begin, End int64 // of the task until then
	Function   uint32
	Calls      int64
}

// Event is an error or another detail.
type Event struct {
	At     int64
	Detail record.Detail
}

// Value is a number of a point. Its time is that at which the batch was sent, if it has none.
type Value struct {
	At     int64
	Point  uint32
	Field  uint16
	Number float64
}

// LongTask is a task that the browser reported as long.
type LongTask struct{ Begin, Duration int64 }

// Note is a record of a Node program that is not about one call.
type Note struct {
	At   int64
	Code record.Code // Lag, Heap, Begins or Ends; Happened for a label
	// Value is the lag in µs, or the heap in KiB.
	Value uint32
	Call  int32 // that planned the callback which begins or ends
	Text  string
	step  int // of the course of the stack that follows
}

// Total has the times of all calls of a function. The instrumentation's cost is subtracted.
type Total struct {
	Function uint32
	Calls    int64
	Open     int64 // calls with an unknown end
	Self     Span  // without callees
	Total    Span  // recursive calls count once
	// Min, Mean and Max are of the time of one call with its callees, without suspensions.
	Min, Mean, Max Span
	// Lasted has min, mean and max of the time until a call and its callbacks ended. It includes
	// suspensions.
	Lasted [3]int64
}

// Task is a span in which a realm's stack was not empty.
type Task struct {
	Realm      int    // index in Realms
	Begin, End int64  // page times; see Realm.When
	Function   uint32 // 0: unknown
	Self       Span   // of the function, which has the longest self time in the task
	Calls      int
}

// Share is the self time of a function within a span.
type Share struct {
	Function uint32
	Self     Span
}

// Meantime is the activity of a realm within a span.
type Meantime struct {
	Realm     int     // index in Realms
	Functions []Share // longest first
	// Unexplained is the time in which no instrumented function ran.
	Unexplained Span
	// Lost is the time whose records are lost.
	Lost Span
}
