// Package trace turns the records of instrumented scripts into calls on the recording's clock.
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
	// Counted is the instrumentation's cost in all records.
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
	Events     []Event
	LongTasks  []LongTask
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
	Function   uint32
	Parent     int32 // index in the realm's calls; -1: called by the browser
	Begin, End int64
	Self       int64 // without callees and suspensions, as measured
	Total      int64 // without suspensions, as measured
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

// Event is an error or another detail.
type Event struct {
	At     int64
	Detail record.Detail
}

// LongTask is a task that the browser reported as long.
type LongTask struct{ Begin, Duration int64 }

// Total has the times of all calls of a function. The instrumentation's cost is subtracted.
type Total struct {
	Function uint32
	Calls    int64
	Open     int64 // calls with an unknown end
	Self     Span  // without callees
	Total    Span  // recursive calls count once
	// Min, Mean and Max are of the time of one call with its callees, without suspensions.
	Min, Mean, Max Span
}

// Task is a span in which a realm's stack was not empty.
type Task struct {
	Realm      int   // index in Realms
	Begin, End int64 // page times; see Realm.When
	Function   uint32
	Self       Span // of the function, which has the longest self time in the task
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

// Build makes the calls of all realms. The start is the collector's, on the recording's clock.
func Build(arrived []Arrived, start timeline.Time) *Trace { return &Trace{} }

// Totals returns the times of each function, longest self time first.
func (t *Trace) Totals() []Total { return nil }

// Tasks returns the tasks of all realms, in the order of their begins.
func (t *Trace) Tasks() []Task { return nil }

// During returns the activity of each realm that ran within a span: windows first, then frames,
// workers and Node.
func (t *Trace) During(from, to timeline.Time) []Meantime { return nil }
